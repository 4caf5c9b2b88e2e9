"""`/milepost/jobs/:jobid/checkpoints/…` and `/participants`: who took part in a checkpoint, and how it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from milepost.checkpoint.model import (
    Acknowledgement,
    CompletedCheckpoint,
    FailedBy,
    FailedCheckpoint,
    Kind,
    PendingCheckpoint,
    kind_of,
)
from milepost.checkpoint.participants.value import size_of
from milepost.checkpoint.stats.counts import Ended
from milepost.checkpoint.store.manifest import acknowledgement_to_json, offsets_to_json
from milepost.rest.flink.vertices_body import milliseconds, place_of, vertex_id
from milepost.rest.view.live_view import Checkpoints


def attempts(checkpoint_id: int, found: Sequence[Ended | PendingCheckpoint]) -> dict[str, Any]:
    """Return one checkpoint with all that is known of each attempt at it, newest first."""
    return {"id": checkpoint_id, "attempts": [story(each) for each in found]}


def story(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    """Return one attempt with everybody's word."""
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    return _heading(checkpoint) | {
        "acknowledged": [_acknowledgement(ack, checkpoint.triggered_at) for ack in _said(checkpoint)],
        "missing": sorted(_missing(checkpoint)),
        "expected": _expected(checkpoint),
        "failed-by": [_failed_by(each) for each in failed.failed_by] if failed else [],
        **_contents(checkpoint if isinstance(checkpoint, CompletedCheckpoint) else None),
    }


def history(ended: Iterable[Ended], before: int | None, limit: int) -> dict[str, Any]:
    """Return checkpoints newest first, those that were triggered before a time in milliseconds."""
    older = (each for each in ended if before is None or milliseconds(each.triggered_at) < before)
    page = list(islice(older, limit + 1))
    shown = page[:limit]
    last = milliseconds(shown[-1].triggered_at) if shown and len(page) > limit else None
    return {"checkpoints": [_listed(each) for each in shown], "next-before": last}


def participants(seen: Checkpoints) -> dict[str, Any]:
    """Return everybody who acknowledges checkpoints, with their newest word."""
    newest = [each for each in (seen.pending, *seen.history) if each is not None]
    names = {name for each in newest[:2] for name in _everybody(each)}
    return {"participants": [_participant(name, seen) for name in sorted(names)]}


def _participant(name: str, seen: Checkpoints) -> dict[str, Any]:
    said = _last_said(name, seen)
    failed = _last_failure(name, seen)
    last = None if said is None else {"checkpoint-id": said[0], **acknowledgement_to_json(said[1])}
    has_state = kind_of(name) in (Kind.STATE, Kind.PARTICIPANT, Kind.SINK)
    return {
        "participant": name,
        "kind": kind_of(name).value,
        "vertex-id": vertex_id(place_of(name)[0]),
        "subtask": place_of(name)[1],
        "state-bytes": said[1].bytes if said is not None and has_state else 0,
        "is-pending": seen.pending is not None and name in seen.pending.missing,
        "last-acknowledgement": last,
        "last-failure": failed,
    }


def _last_said(name: str, seen: Checkpoints) -> tuple[int, Acknowledgement] | None:
    known = (each for each in (seen.pending, *seen.history) if each is not None)
    said = ((each.checkpoint_id, ack) for each in known for ack in _said(each) if ack.participant == name)
    return next(said, None)


def _last_failure(name: str, seen: Checkpoints) -> dict[str, Any] | None:
    for each in seen.history:
        if not isinstance(each, FailedCheckpoint):
            continue
        for by in each.failed_by:
            if by.participant == name:
                return {"checkpoint-id": each.checkpoint_id, "at": each.failed_at.isoformat()} | _failed_by(
                    by
                )
    return None


def _heading(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    ended = _ended_at(checkpoint)
    return {
        "id": checkpoint.checkpoint_id,
        "status": _status(checkpoint),
        "trigger": checkpoint.trigger.name,
        "triggered-at": checkpoint.triggered_at.isoformat(),
        "ended-at": ended and ended.isoformat(),
        "duration-ms": ended and milliseconds(ended) - milliseconds(checkpoint.triggered_at),
        "reason": failed and failed.reason.name,
        "sentence": failed and failed.reason.sentence,
        "detail": failed and failed.detail,
    }


def _listed(checkpoint: Ended) -> dict[str, Any]:
    said = _said(checkpoint)
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    return _heading(checkpoint) | {
        "trigger-timestamp": milliseconds(checkpoint.triggered_at),
        "rows": sum(ack.rows for ack in said if kind_of(ack.participant) is Kind.WRITER),
        "bytes": sum(ack.bytes for ack in said if kind_of(ack.participant) is Kind.WRITER),
        "state-bytes": sum(ack.bytes for ack in said if kind_of(ack.participant) is not Kind.WRITER),
        "acknowledged": failed.acknowledged if failed else len(said),
        "expected": _expected(checkpoint),
        "failed-by": [each.participant for each in failed.failed_by] if failed else [],
    }


def _contents(checkpoint: CompletedCheckpoint | None) -> dict[str, Any]:
    """Return what only a completed checkpoint has; of states and extra data the names and sizes alone."""
    if checkpoint is None:
        nothing: dict[str, Any] = {"offsets": [], "topic-ids": {}, "states": {}, "extra": []}
        return {"job-id": None, "epoch": None, "rejected": {}, "late": {}, **nothing}
    return {
        "job-id": checkpoint.job_id,
        "epoch": checkpoint.epoch,
        "rejected": dict(checkpoint.rejected),
        "late": dict(checkpoint.late),
        "offsets": [offsets_to_json(source) for source in checkpoint.sources],
        "topic-ids": dict(checkpoint.topic_ids),
        "states": {name: size_of(state) for name, state in checkpoint.states.items()},
        "extra": sorted(checkpoint.extra),
    }


def _acknowledgement(ack: Acknowledgement, triggered_at: datetime) -> dict[str, Any]:
    after = milliseconds(ack.at) - milliseconds(triggered_at)
    return acknowledgement_to_json(ack) | {"kind": kind_of(ack.participant).value, "after-ms": max(after, 0)}


def _failed_by(by: FailedBy) -> dict[str, Any]:
    return {
        "participant": by.participant,
        "kind": kind_of(by.participant).value,
        "sentence": by.sentence,
        "traceback": by.traceback or None,
    }


def _said(checkpoint: Ended | PendingCheckpoint) -> tuple[Acknowledgement, ...]:
    if isinstance(checkpoint, PendingCheckpoint):
        return tuple(checkpoint.acknowledged.values())
    return checkpoint.acknowledgements


def _missing(checkpoint: Ended | PendingCheckpoint) -> Iterable[str]:
    return () if isinstance(checkpoint, CompletedCheckpoint) else checkpoint.missing


def _expected(checkpoint: Ended | PendingCheckpoint) -> int | None:
    """Return how many have to acknowledge; None of one whose batch does not have its tasks yet."""
    if isinstance(checkpoint, PendingCheckpoint):
        return checkpoint.expected
    if isinstance(checkpoint, FailedCheckpoint):
        return checkpoint.waiting_for
    return len(checkpoint.acknowledgements)


def _everybody(checkpoint: Ended | PendingCheckpoint) -> set[str]:
    return {*(ack.participant for ack in _said(checkpoint)), *_missing(checkpoint)}


def _ended_at(checkpoint: Ended | PendingCheckpoint) -> datetime | None:
    if isinstance(checkpoint, PendingCheckpoint):
        return None
    return checkpoint.completed_at if isinstance(checkpoint, CompletedCheckpoint) else checkpoint.failed_at


def _status(checkpoint: Ended | PendingCheckpoint) -> str:
    if isinstance(checkpoint, CompletedCheckpoint):
        return "COMPLETED"
    return "FAILED" if isinstance(checkpoint, FailedCheckpoint) else "IN_PROGRESS"
