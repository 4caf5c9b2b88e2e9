"""`/jobs/:jobid/checkpoints` and what lies under it."""

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
from milepost.rest.flink.vertices_body import Vertex, milliseconds
from milepost.rest.view.live_view import Checkpoints, is_savepoint

UNKNOWN = -1
_KEYS = dict(zip(QUANTILES, ("p50", "p90", "p95", "p99", "p999"), strict=True))
_NOTHING = Summary()
_TYPES = {Trigger.SAVEPOINT: "SAVEPOINT", Trigger.SYNC_SAVEPOINT: "SYNC_SAVEPOINT"}
_BACKENDS = {
    "memory": "HashMapStateBackend",
    "filesystem": "HashMapStateBackend",
    "rocksdb": "EmbeddedRocksDBStateBackend",
}


def statistics(seen: Checkpoints, checkpointing: Checkpointing) -> dict[str, Any]:
    """Return all that Flink shows of a job's checkpoints."""

    def shown(checkpoint: Ended | PendingCheckpoint | None) -> dict[str, Any] | None:
        return None if checkpoint is None else overview(checkpoint, seen, checkpointing)

    in_progress = (seen.pending,) if seen.pending else ()
    return {
        "counts": {
            "restored": seen.restores,
            "total": seen.completed + seen.failed + len(in_progress),
            "in_progress": len(in_progress),
            "completed": seen.completed,
            "failed": seen.failed,
        },
        "summary": {
            "checkpointed_size": stats(seen.sizes),
            "state_size": stats(seen.sizes),
            "end_to_end_duration": stats(seen.durations),
            "alignment_buffered": stats(_zeros(seen.durations)),
            "processed_data": stats(_zeros(seen.durations)),
            "persisted_data": stats(_zeros(seen.durations)),
        },
        "latest": {
            "completed": shown(seen.latest_completed),
            "savepoint": shown(seen.latest_savepoint),
            "failed": shown(seen.latest_failed),
            "restored": _restored(seen, checkpointing),
        },
        "history": [shown(each) for each in (*in_progress, *seen.history)],
    }


def overview(
    checkpoint: Ended | PendingCheckpoint, seen: Checkpoints, checkpointing: Checkpointing
) -> dict[str, Any]:
    """Return one checkpoint without its tasks."""
    if isinstance(checkpoint, CompletedCheckpoint):
        newest = seen.latest_completed
        kept_from = (newest.checkpoint_id if newest else 0) - checkpointing.retained
        return _common(checkpoint) | {
            "external_path": _path(checkpoint, seen, checkpointing),
            "discarded": checkpoint.checkpoint_id <= kept_from,
        }
    if isinstance(checkpoint, FailedCheckpoint):
        message = " ".join(part for part in (checkpoint.reason.sentence, checkpoint.detail) if part)
        return _common(checkpoint) | {
            "failure_timestamp": milliseconds(checkpoint.failed_at),
            "failure_message": message,
        }
    return _common(checkpoint)


def details(
    checkpoint: Ended | PendingCheckpoint,
    seen: Checkpoints,
    checkpointing: Checkpointing,
    vertices: Sequence[Vertex],
) -> dict[str, Any]:
    """Return one checkpoint with a task for each of the vertices."""
    triggered = milliseconds(checkpoint.triggered_at)
    status = _status(checkpoint)
    tasks = {vertex.id: _task(vertex, checkpoint, status, triggered) for vertex in vertices}
    return overview(checkpoint, seen, checkpointing) | {"tasks": tasks}


def subtasks(checkpoint: Ended | PendingCheckpoint, vertex: Vertex) -> dict[str, Any]:
    """Return one vertex of a checkpoint with each of its subtasks."""
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
    return _task(vertex, checkpoint, _status(checkpoint), triggered) | {
        "summary": summary,
        "subtasks": [_subtask(index, ack, triggered) for index, ack in sorted(vertex.subtasks.items())],
    }


def config(checkpointing: Checkpointing) -> dict[str, Any]:
    """Return how the job takes checkpoints."""
    return {
        "mode": checkpointing.mode.replace("-", "_"),
        "interval": _whole(checkpointing.interval.total_seconds()),
        "timeout": _whole(checkpointing.timeout.total_seconds()),
        "min_pause": _whole(checkpointing.min_pause.total_seconds()),
        "max_concurrent": checkpointing.max_concurrent,
        "externalization": {
            "enabled": True,
            "delete_on_cancellation": checkpointing.on_cancel == "delete",
        },
        "state_backend": _BACKENDS[checkpointing.state_backend],
        "checkpoint_storage": "FileSystemCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": checkpointing.tolerable_failures,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": checkpointing.state_backend == "rocksdb",
        "changelog_periodic_materialization_interval": 600000,
        "changelog_storage": "filesystem" if checkpointing.state_backend == "rocksdb" else None,
    }


def stats(summary: Summary) -> dict[str, Any]:
    """Return a distribution; quantiles of nothing are what Flink's JSON has for not-a-number."""
    quantiles = {
        key: float(summary.quantiles.get(q, 0)) if summary.quantiles else "NaN" for q, key in _KEYS.items()
    }
    return {"min": summary.minimum, "max": summary.maximum, "avg": summary.average, **quantiles}


def external_path(checkpoint: CompletedCheckpoint, checkpointing: Checkpointing) -> str:
    """Return where a completed checkpoint is stored."""
    return f"{checkpointing.dir}/milepost/checkpoints/{checkpoint.checkpoint_id}.json"


def _path(checkpoint: CompletedCheckpoint, seen: Checkpoints, checkpointing: Checkpointing) -> str:
    """Return what a job can be started from: of a savepoint its directory, while it is there."""
    lying = seen.savepoints.get((checkpoint.checkpoint_id, checkpoint.completed_at))
    return lying or external_path(checkpoint, checkpointing)


def _common(checkpoint: Ended | PendingCheckpoint) -> dict[str, Any]:
    size, acknowledged, expected = _measures(checkpoint)
    saved = is_savepoint(checkpoint)
    return {
        "className": _status(checkpoint).lower(),
        "id": checkpoint.checkpoint_id,
        "status": _status(checkpoint),
        "is_savepoint": saved,
        "savepointFormat": "CANONICAL" if saved else None,
        "trigger_timestamp": milliseconds(checkpoint.triggered_at),
        "latest_ack_timestamp": _latest(_said(checkpoint)),
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


def _status(checkpoint: Ended | PendingCheckpoint) -> str:
    if isinstance(checkpoint, CompletedCheckpoint):
        return "COMPLETED"
    return "FAILED" if isinstance(checkpoint, FailedCheckpoint) else "IN_PROGRESS"


def _said(checkpoint: Ended | PendingCheckpoint) -> Sequence[Acknowledgement]:
    if isinstance(checkpoint, PendingCheckpoint):
        return tuple(checkpoint.acknowledged.values())
    return checkpoint.acknowledgements


def _measures(checkpoint: Ended | PendingCheckpoint) -> tuple[int, int, int]:
    """Return the bytes of state, how many have acknowledged, and how many have to."""
    said = _said(checkpoint)
    size = sum(map(_size, said))
    if isinstance(checkpoint, FailedCheckpoint):
        return size, checkpoint.acknowledged, checkpoint.waiting_for
    if isinstance(checkpoint, CompletedCheckpoint):
        return size, len(said), len(said)
    return size, len(said), len(checkpoint.waiting_for | checkpoint.acknowledged.keys())


def _duration(checkpoint: Ended | PendingCheckpoint) -> int:
    if isinstance(checkpoint, CompletedCheckpoint):
        return checkpoint.duration_ms
    triggered = milliseconds(checkpoint.triggered_at)
    if isinstance(checkpoint, FailedCheckpoint):
        return max(milliseconds(checkpoint.failed_at) - triggered, 0)
    latest = _latest(_said(checkpoint))
    return UNKNOWN if latest == UNKNOWN else max(latest - triggered, 0)


def _size(ack: Acknowledgement) -> int:
    """Return the bytes of state; what a writer has sent to the sink is no part of the checkpoint."""
    return 0 if kind_of(ack.participant) is Kind.WRITER else ack.bytes


def _latest(said: Sequence[Acknowledgement]) -> int:
    return max((milliseconds(ack.at) for ack in said), default=UNKNOWN)


def _task(
    vertex: Vertex, checkpoint: Ended | PendingCheckpoint, status: str, triggered: int
) -> dict[str, Any]:
    acks = vertex.acknowledgements
    latest = _latest(acks)
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


def _restored(seen: Checkpoints, checkpointing: Checkpointing) -> dict[str, Any] | None:
    checkpoint = seen.restored
    if checkpoint is None:
        return None
    return {
        "id": checkpoint.checkpoint_id,
        "restore_timestamp": milliseconds(seen.restored_at or checkpoint.completed_at),
        "is_savepoint": is_savepoint(checkpoint),
        "external_path": _path(checkpoint, seen, checkpointing),
    }


def _zeros(like: Summary) -> Summary:
    """Return a distribution of zeros with as many samples: Spark has no alignment."""
    return Summary(quantiles=dict.fromkeys(like.quantiles, 0.0)) if like.quantiles else _NOTHING


def _whole(seconds: float) -> int:
    return round(seconds * 1000)
