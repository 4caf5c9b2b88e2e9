"""`/milepost/jobs/:jobid/checkpoints/…` and `/participants`: participants, attempts and the full history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query

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
from milepost.rest.flink.checkpoint_statistics import acknowledgements_of, status_of
from milepost.rest.flink.job_vertex import find_place, vertex_id
from milepost.rest.server.parameters import CheckpointNumber, RequestedView
from milepost.rest.server.refusal import Refusal
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import Checkpoints

router = APIRouter(tags=["milepost"])


@router.get("/milepost/jobs/{jobid}/participants")
def participants(view: RequestedView) -> dict[str, Any]:
    """Return the participants of checkpoints with their last acknowledgement."""
    return participants_body(view.checkpoints())


@router.get("/milepost/jobs/{jobid}/checkpoints/pending")
def pending(view: RequestedView) -> dict[str, Any]:
    """Return the checkpoint in flight with each acknowledgement."""
    return pending_body(view.job.checkpoints.pending)


@router.get("/milepost/jobs/{jobid}/checkpoints/history")
def history(
    view: RequestedView,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Return checkpoints of the durable history, newest first; for the next page set `before` to `next-before`."""
    return history_body(view.ended_checkpoints(), before, limit)


@router.get("/milepost/jobs/{jobid}/checkpoints/{checkpointid}")
def checkpoint(view: RequestedView, checkpointid: CheckpointNumber) -> dict[str, Any]:
    """Return every attempt at a checkpoint: acknowledged and missing participants, and the cause of a failure."""
    running = view.job.checkpoints.pending
    found: list[Ended | PendingCheckpoint] = [*view.attempts(checkpointid)]
    if running is not None and running.checkpoint_id == checkpointid:
        found.insert(0, running)
    if not found:
        raise Refusal(404, f"Could not find checkpoint {checkpointid}.")
    return attempts_body(checkpointid, found)


def attempts_body(checkpoint_id: int, found: Sequence[Ended | PendingCheckpoint]) -> dict[str, Any]:
    """Return the attempts at a checkpoint, newest first."""
    return {"id": checkpoint_id, "attempts": [attempt_body(each) for each in found]}


def attempt_body(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    """Return one attempt with the acknowledgement of every participant."""
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    return _common_fields(checkpoint) | {
        "acknowledged": [
            _acknowledgement(ack, checkpoint.triggered_at) for ack in acknowledgements_of(checkpoint)
        ],
        "missing": sorted(_missing(checkpoint)),
        "expected": _expected(checkpoint),
        "failed-by": [_failed_by(each) for each in failed.failed_by] if failed else [],
        **_completed_fields(checkpoint if isinstance(checkpoint, CompletedCheckpoint) else None),
    }


def history_body(ended: Iterable[Ended], before: int | None, limit: int) -> dict[str, Any]:
    """Return the checkpoints triggered before a time in milliseconds, newest first."""
    older = (each for each in ended if before is None or milliseconds(each.triggered_at) < before)
    page = list(islice(older, limit + 1))
    shown = page[:limit]
    last = milliseconds(shown[-1].triggered_at) if shown and len(page) > limit else None
    return {"checkpoints": [_history_entry(each) for each in shown], "next-before": last}


def participants_body(checkpoints: Checkpoints) -> dict[str, Any]:
    """Return the participants of checkpoints with their last acknowledgement."""
    newest = [each for each in (checkpoints.pending, *checkpoints.history) if each is not None]
    names = {name for each in newest[:2] for name in _participant_names(each)}
    return {"participants": [_participant(name, checkpoints) for name in sorted(names)]}


def pending_body(checkpoint: PendingCheckpoint | None) -> dict[str, Any]:
    """Return the checkpoint in flight: acknowledgements, missing participants and the expected number."""
    if checkpoint is None:
        return {"pending": None}
    return {
        "pending": {
            "id": checkpoint.checkpoint_id,
            "trigger": checkpoint.trigger.name,
            "triggered-at": checkpoint.triggered_at.isoformat(),
            "acknowledged": [acknowledgement_to_json(ack) for ack in checkpoint.acknowledged.values()],
            "missing": sorted(checkpoint.missing),
            "expected": checkpoint.expected,
        }
    }


def _participant(name: str, checkpoints: Checkpoints) -> dict[str, Any]:
    found = _last_acknowledgement(name, checkpoints)
    failed = _last_failure(name, checkpoints)
    last = None if found is None else {"checkpoint-id": found[0], **acknowledgement_to_json(found[1])}
    has_state = kind_of(name) in (Kind.STATE, Kind.PARTICIPANT, Kind.SINK)
    return {
        "participant": name,
        "kind": kind_of(name).value,
        "vertex-id": vertex_id(find_place(name)[0]),
        "subtask": find_place(name)[1],
        "state-bytes": found[1].bytes if found is not None and has_state else 0,
        "is-pending": checkpoints.pending is not None and name in checkpoints.pending.missing,
        "last-acknowledgement": last,
        "last-failure": failed,
    }


def _last_acknowledgement(name: str, checkpoints: Checkpoints) -> tuple[int, Acknowledgement] | None:
    known = (each for each in (checkpoints.pending, *checkpoints.history) if each is not None)
    acks = (
        (each.checkpoint_id, ack)
        for each in known
        for ack in acknowledgements_of(each)
        if ack.participant == name
    )
    return next(acks, None)


def _last_failure(name: str, checkpoints: Checkpoints) -> dict[str, Any] | None:
    for each in checkpoints.history:
        if not isinstance(each, FailedCheckpoint):
            continue
        for by in each.failed_by:
            if by.participant == name:
                return {"checkpoint-id": each.checkpoint_id, "at": each.failed_at.isoformat()} | _failed_by(
                    by
                )
    return None


def _common_fields(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    ended = _ended_at(checkpoint)
    return {
        "id": checkpoint.checkpoint_id,
        "status": status_of(checkpoint),
        "trigger": checkpoint.trigger.name,
        "triggered-at": checkpoint.triggered_at.isoformat(),
        "ended-at": ended and ended.isoformat(),
        "duration-ms": ended and milliseconds(ended) - milliseconds(checkpoint.triggered_at),
        "reason": failed and failed.reason.name,
        "sentence": failed and failed.reason.sentence,
        "detail": failed and failed.detail,
    }


def _history_entry(checkpoint: Ended) -> dict[str, Any]:
    acks = acknowledgements_of(checkpoint)
    failed = checkpoint if isinstance(checkpoint, FailedCheckpoint) else None
    return _common_fields(checkpoint) | {
        "trigger-timestamp": milliseconds(checkpoint.triggered_at),
        "rows": sum(ack.rows for ack in acks if kind_of(ack.participant) is Kind.WRITER),
        "bytes": sum(ack.bytes for ack in acks if kind_of(ack.participant) is Kind.WRITER),
        "state-bytes": sum(ack.bytes for ack in acks if kind_of(ack.participant) is not Kind.WRITER),
        "acknowledged": failed.acknowledged if failed else len(acks),
        "expected": _expected(checkpoint),
        "failed-by": [each.participant for each in failed.failed_by] if failed else [],
    }


def _completed_fields(checkpoint: CompletedCheckpoint | None) -> dict[str, Any]:
    """Return the fields of a completed checkpoint; for states and extra data only names and sizes."""
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


def _missing(checkpoint: Ended | PendingCheckpoint) -> Iterable[str]:
    return () if isinstance(checkpoint, CompletedCheckpoint) else checkpoint.missing


def _expected(checkpoint: Ended | PendingCheckpoint) -> int | None:
    """Return the number of expected acknowledgements; None while the batch does not have its tasks yet."""
    if isinstance(checkpoint, PendingCheckpoint):
        return checkpoint.expected
    if isinstance(checkpoint, FailedCheckpoint):
        return checkpoint.waiting_for
    return len(checkpoint.acknowledgements)


def _participant_names(checkpoint: Ended | PendingCheckpoint) -> set[str]:
    return {*(ack.participant for ack in acknowledgements_of(checkpoint)), *_missing(checkpoint)}


def _ended_at(checkpoint: Ended | PendingCheckpoint) -> datetime | None:
    if isinstance(checkpoint, PendingCheckpoint):
        return None
    return checkpoint.completed_at if isinstance(checkpoint, CompletedCheckpoint) else checkpoint.failed_at
