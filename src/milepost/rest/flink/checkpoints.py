"""`/jobs/:jobid/checkpoints`: statistics, configuration, details and triggering."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from milepost.checkpoint.model import PendingCheckpoint
from milepost.checkpoint.stats.counts import Ended
from milepost.config import Checkpointing
from milepost.rest.flink import checkpoint_statistics, operation_results, task_info
from milepost.rest.flink.job_vertex import Vertex, add_missing_vertices, find_vertex, group_participants
from milepost.rest.server.parameters import (
    Body,
    CheckpointNumber,
    ChosenId,
    RequestedView,
    ServerOperations,
    TriggerId,
    VertexId,
    find_operation,
)
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.job_view import Checkpoints, JobView
from milepost.rest.view.operations import Kind

router = APIRouter(tags=["checkpoints"])

_BACKENDS = {
    "memory": "HashMapStateBackend",
    "filesystem": "HashMapStateBackend",
    "rocksdb": "EmbeddedRocksDBStateBackend",
}


class CheckpointTriggerRequestBody(Body):
    """The options of a triggered checkpoint; Spark has one type only."""

    checkpointType: Literal["CONFIGURED", "FULL"] | None = None
    triggerId: ChosenId = None


@router.get("/jobs/{jobid}/checkpoints")
def statistics(view: RequestedView) -> dict[str, Any]:
    """Return the statistics of the checkpoints."""
    return checkpoint_statistics.statistics(view.checkpoints_with_savepoints(), view.config.checkpointing)


@router.post("/jobs/{jobid}/checkpoints", status_code=202)
def trigger(
    view: RequestedView, operations: ServerOperations, body: CheckpointTriggerRequestBody | None = None
) -> dict[str, Any]:
    """Trigger a checkpoint."""
    chosen = body.triggerId if body else None
    return operation_results.trigger_response(
        operations.start(Kind.CHECKPOINT, chosen, view.job.trigger_checkpoint)
    )


@router.get("/jobs/{jobid}/checkpoints/config")
def config(view: RequestedView) -> dict[str, Any]:
    """Return the checkpointing configuration."""
    return config_body(view.config.checkpointing)


@router.get("/jobs/{jobid}/checkpoints/details/{checkpointid}")
def details(view: RequestedView, checkpointid: CheckpointNumber) -> dict[str, Any]:
    """Return one checkpoint with its tasks."""
    checkpoints, checkpoint = _find(view, checkpointid)
    return checkpoint_statistics.details(
        checkpoint, checkpoints, view.config.checkpointing, _vertices(view, checkpoint)
    )


@router.get("/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}")
def subtasks(view: RequestedView, checkpointid: CheckpointNumber, vertexid: VertexId) -> dict[str, Any]:
    """Return one vertex of a checkpoint with its subtasks."""
    _, checkpoint = _find(view, checkpointid)
    vertex = find_vertex(_vertices(view, checkpoint), vertexid)
    if vertex is None:
        raise Refusal(404, f"There is no checkpoint statistics for task {vertexid}.")
    return checkpoint_statistics.subtasks(checkpoint, vertex)


@router.get("/jobs/{jobid}/checkpoints/{triggerid}")
def result(view: RequestedView, operations: ServerOperations, triggerid: TriggerId) -> dict[str, Any]:
    """Return the result of a triggered checkpoint."""
    future = find_operation(operations, Kind.CHECKPOINT, triggerid, f" for job {view.job.job_id}")
    if not future.done():
        return operation_results.IN_PROGRESS
    error = future.exception()
    return (
        operation_results.checkpoint_result(future.result())
        if error is None
        else operation_results.checkpoint_failure(error)
    )


def _vertices(view: JobView, checkpoint: Ended | PendingCheckpoint) -> list[Vertex]:
    return add_missing_vertices(group_participants(checkpoint), task_info.list_vertices(view), checkpoint)


def _find(view: JobView, checkpoint_id: int) -> tuple[Checkpoints, Ended | PendingCheckpoint]:
    checkpoints = view.checkpoints_with_savepoints()
    checkpoint = checkpoints.find(checkpoint_id) or next(iter(view.attempts(checkpoint_id)), None)
    if checkpoint is None:
        raise Refusal(404, f"Could not find checkpointing statistics for checkpoint {checkpoint_id}.")
    return checkpoints, checkpoint


def config_body(checkpointing: Checkpointing) -> dict[str, Any]:
    """Return the checkpointing configuration in Flink's format."""
    return {
        "mode": checkpointing.mode.replace("-", "_"),
        "interval": _to_milliseconds(checkpointing.interval.total_seconds()),
        "timeout": _to_milliseconds(checkpointing.timeout.total_seconds()),
        "min_pause": _to_milliseconds(checkpointing.min_pause.total_seconds()),
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


def _to_milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
