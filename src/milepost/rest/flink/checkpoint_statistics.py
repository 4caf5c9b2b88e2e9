"""The statistics of checkpoints in Flink's format: summary, history, details and subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milepost.checkpoint.model import (
    Acknowledgement,
    CompletedCheckpoint,
    FailedCheckpoint,
    Kind,
    PendingCheckpoint,
    Trigger,
    kind_of,
)
from milepost.checkpoint.stats.counts import (
    QUANTILES,
    Ended,
    Summary,
    summarize,
)
from milepost.config import Checkpointing
from milepost.rest.flink.job_vertex import Vertex
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import Checkpoints, is_savepoint

UNKNOWN = -1
_KEYS = dict(zip(QUANTILES, ("p50", "p90", "p95", "p99", "p999"), strict=True))
_NO_SAMPLES = Summary()
_TYPES = {Trigger.SAVEPOINT: "SAVEPOINT", Trigger.SYNC_SAVEPOINT: "SYNC_SAVEPOINT"}


def statistics(checkpoints: Checkpoints, checkpointing: Checkpointing) -> dict[str, Any]:
    """Return the statistics of all checkpoints of a job."""

    def optional_overview(checkpoint: Ended | PendingCheckpoint | None) -> dict[str, Any] | None:
        return None if checkpoint is None else overview(checkpoint, checkpoints, checkpointing)

    in_progress = (checkpoints.pending,) if checkpoints.pending else ()
    return {
        "counts": {
            "restored": checkpoints.restores,
            "total": checkpoints.completed + checkpoints.failed + len(in_progress),
            "in_progress": len(in_progress),
            "completed": checkpoints.completed,
            "failed": checkpoints.failed,
        },
        "summary": {
            "checkpointed_size": stats(checkpoints.sizes),
            "state_size": stats(checkpoints.sizes),
            "end_to_end_duration": stats(checkpoints.durations),
            "alignment_buffered": stats(_zeros(checkpoints.durations)),
            "processed_data": stats(_zeros(checkpoints.durations)),
            "persisted_data": stats(_zeros(checkpoints.durations)),
        },
        "latest": {
            "completed": optional_overview(checkpoints.latest_completed),
            "savepoint": optional_overview(checkpoints.latest_savepoint),
            "failed": optional_overview(checkpoints.latest_failed),
            "restored": _restored_body(checkpoints, checkpointing),
        },
        "history": [optional_overview(each) for each in (*in_progress, *checkpoints.history)],
    }


def overview(
    checkpoint: Ended | PendingCheckpoint, checkpoints: Checkpoints, checkpointing: Checkpointing
) -> dict[str, Any]:
    """Return one checkpoint without its tasks."""
    if isinstance(checkpoint, CompletedCheckpoint):
        newest = checkpoints.latest_completed
        kept_from = (newest.checkpoint_id if newest else 0) - checkpointing.retained
        return _common_fields(checkpoint) | {
            "external_path": _path(checkpoint, checkpoints, checkpointing),
            "discarded": checkpoint.checkpoint_id <= kept_from,
        }
    if isinstance(checkpoint, FailedCheckpoint):
        message = " ".join(part for part in (checkpoint.reason.sentence, checkpoint.detail) if part)
        return _common_fields(checkpoint) | {
            "failure_timestamp": milliseconds(checkpoint.failed_at),
            "failure_message": message,
        }
    return _common_fields(checkpoint)


def details(
    checkpoint: Ended | PendingCheckpoint,
    checkpoints: Checkpoints,
    checkpointing: Checkpointing,
    vertices: Sequence[Vertex],
) -> dict[str, Any]:
    """Return one checkpoint with a task for each vertex."""
    triggered = milliseconds(checkpoint.triggered_at)
    status = status_of(checkpoint)
    tasks = {vertex.id: _task(vertex, checkpoint, status, triggered) for vertex in vertices}
    return overview(checkpoint, checkpoints, checkpointing) | {"tasks": tasks}


def subtasks(checkpoint: Ended | PendingCheckpoint, vertex: Vertex) -> dict[str, Any]:
    """Return one vertex of a checkpoint with its subtasks."""
    triggered = milliseconds(checkpoint.triggered_at)
    acks = vertex.acknowledgements
    ends = [milliseconds(ack.at) - triggered for ack in acks]
    nothing = stats(_zeros(summarize(ends)))
    summary = {
        "checkpointed_size": stats(summarize([_size(ack) for ack in acks])),
        "state_size": stats(summarize([_size(ack) for ack in acks])),
        "end_to_end_duration": stats(summarize(ends)),
        "checkpoint_duration": {
            "sync": stats(summarize([ack.duration_ms for ack in acks])),
            "async": nothing,
        },
        "alignment": dict.fromkeys(("buffered", "processed", "persisted", "duration"), nothing),
        "start_delay": nothing,
    }
    return _task(vertex, checkpoint, status_of(checkpoint), triggered) | {
        "summary": summary,
        "subtasks": [_subtask(index, ack, triggered) for index, ack in sorted(vertex.subtasks.items())],
    }


def stats(summary: Summary) -> dict[str, Any]:
    """Return a distribution; the quantiles of an empty one are "NaN", as in Flink's JSON."""
    quantiles = {
        key: float(summary.quantiles.get(q, 0)) if summary.quantiles else "NaN" for q, key in _KEYS.items()
    }
    return {"min": summary.minimum, "max": summary.maximum, "avg": summary.average, **quantiles}


def external_path(checkpoint: CompletedCheckpoint, checkpointing: Checkpointing) -> str:
    """Return the path of a completed checkpoint."""
    return f"{checkpointing.dir}/milepost/checkpoints/{checkpoint.checkpoint_id}.json"


def _path(checkpoint: CompletedCheckpoint, checkpoints: Checkpoints, checkpointing: Checkpointing) -> str:
    """Return the path that a job can be started from: the directory of a savepoint as long as it exists."""
    path = checkpoints.savepoints.get((checkpoint.checkpoint_id, checkpoint.completed_at))
    return path or external_path(checkpoint, checkpointing)


def _common_fields(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    size, acknowledged, expected = _size_and_counts(checkpoint)
    saved = is_savepoint(checkpoint)
    return {
        "className": status_of(checkpoint).lower(),
        "id": checkpoint.checkpoint_id,
        "status": status_of(checkpoint),
        "is_savepoint": saved,
        "savepointFormat": "CANONICAL" if saved else None,
        "trigger_timestamp": milliseconds(checkpoint.triggered_at),
        "latest_ack_timestamp": _latest_ack(acknowledgements_of(checkpoint)),
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": _duration(checkpoint),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": expected,
        "num_acknowledged_subtasks": acknowledged,
        "checkpoint_type": _TYPES.get(checkpoint.trigger, "CHECKPOINT"),
        "tasks": {},
    }


def status_of(checkpoint: Ended | PendingCheckpoint) -> str:
    """Return the status of a checkpoint."""
    if isinstance(checkpoint, CompletedCheckpoint):
        return "COMPLETED"
    return "FAILED" if isinstance(checkpoint, FailedCheckpoint) else "IN_PROGRESS"


def acknowledgements_of(checkpoint: Ended | PendingCheckpoint) -> tuple[Acknowledgement, ...]:
    """Return the received acknowledgements of a checkpoint."""
    if isinstance(checkpoint, PendingCheckpoint):
        return tuple(checkpoint.acknowledged.values())
    return checkpoint.acknowledgements


def _size_and_counts(checkpoint: Ended | PendingCheckpoint) -> tuple[int, int, int]:
    """Return the bytes of state and the number of received and expected acknowledgements."""
    acks = acknowledgements_of(checkpoint)
    size = sum(map(_size, acks))
    if isinstance(checkpoint, FailedCheckpoint):
        return size, checkpoint.acknowledged, checkpoint.waiting_for
    if isinstance(checkpoint, CompletedCheckpoint):
        return size, len(acks), len(acks)
    return size, len(acks), len(checkpoint.waiting_for | checkpoint.acknowledged.keys())


def _duration(checkpoint: Ended | PendingCheckpoint) -> int:
    if isinstance(checkpoint, CompletedCheckpoint):
        return checkpoint.duration_ms
    triggered = milliseconds(checkpoint.triggered_at)
    if isinstance(checkpoint, FailedCheckpoint):
        return max(milliseconds(checkpoint.failed_at) - triggered, 0)
    latest = _latest_ack(acknowledgements_of(checkpoint))
    return UNKNOWN if latest == UNKNOWN else max(latest - triggered, 0)


def _size(ack: Acknowledgement) -> int:
    """Return the bytes of state; the data that a writer sends to the sink is not part of the checkpoint."""
    return 0 if kind_of(ack.participant) is Kind.WRITER else ack.bytes


def _latest_ack(acks: Sequence[Acknowledgement]) -> int:
    return max((milliseconds(ack.at) for ack in acks), default=UNKNOWN)


def _task(
    vertex: Vertex, checkpoint: Ended | PendingCheckpoint, status: str, triggered: int
) -> dict[str, Any]:
    acks = vertex.acknowledgements
    latest = _latest_ack(acks)
    size = sum(map(_size, acks))
    return {
        "id": checkpoint.checkpoint_id,
        "status": status,
        "latest_ack_timestamp": latest,
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": UNKNOWN if latest == UNKNOWN else max(latest - triggered, 0),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": len(vertex.subtasks),
        "num_acknowledged_subtasks": len(acks),
    }


def _subtask(index: int, ack: Acknowledgement | None, triggered: int) -> dict[str, Any]:
    if ack is None:
        return {"className": "pending", "index": index, "status": "pending_or_failed"}
    at = milliseconds(ack.at)
    return {
        "className": "completed",
        "index": index,
        "status": "completed",
        "ack_timestamp": at,
        "end_to_end_duration": max(at - triggered, 0),
        "checkpointed_size": _size(ack),
        "state_size": _size(ack),
        "checkpoint": {"sync": ack.duration_ms, "async": 0},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }


def _restored_body(checkpoints: Checkpoints, checkpointing: Checkpointing) -> dict[str, Any] | None:
    checkpoint = checkpoints.restored
    if checkpoint is None:
        return None
    return {
        "id": checkpoint.checkpoint_id,
        "restore_timestamp": milliseconds(checkpoints.restored_at or checkpoint.completed_at),
        "is_savepoint": is_savepoint(checkpoint),
        "external_path": _path(checkpoint, checkpoints, checkpointing),
    }


def _zeros(like: Summary) -> Summary:
    """Return a distribution of zeros with as many samples: Spark has no alignment."""
    return Summary(quantiles=dict.fromkeys(like.quantiles, 0.0)) if like.quantiles else _NO_SAMPLES
