"""The checkpoints of a job: statistics, details, trigger."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from milepost.checkpoint.model import PendingCheckpoint
from milepost.checkpoint.stats.counts import Ended
from milepost.rest.flink import checkpoints_body, operations_body, tasks_body
from milepost.rest.flink.vertices_body import (
    Vertex,
    complete,
    find_vertex,
    vertices_of,
)
from milepost.rest.server.parameters import (
    Body,
    CheckpointNumber,
    ChosenId,
    ServedJob,
    Triggered,
    TriggerId,
    VertexId,
    operation,
)
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.live_view import Checkpoints, Served
from milepost.rest.view.operations import Kind

router = APIRouter(tags=["checkpoints"])


class CheckpointTriggerRequestBody(Body):
    """What may be said about a checkpoint that is triggered; Spark has one kind."""

    checkpointType: Literal["CONFIGURED", "FULL"] | None = None
    triggerId: ChosenId = None


@router.get("/jobs/{jobid}/checkpoints")
def statistics(served: ServedJob) -> dict[str, Any]:
    """Return the statistics of the checkpoints."""
    return checkpoints_body.statistics(served.checkpoints_with_savepoints(), served.config.checkpointing)


@router.post("/jobs/{jobid}/checkpoints", status_code=202)
def trigger(
    served: ServedJob, triggered: Triggered, body: CheckpointTriggerRequestBody | None = None
) -> dict[str, Any]:
    """Trigger a checkpoint."""
    chosen = body.triggerId if body else None
    return operations_body.triggered(triggered.begin(Kind.CHECKPOINT, chosen, served.job.trigger_checkpoint))


@router.get("/jobs/{jobid}/checkpoints/config")
def config(served: ServedJob) -> dict[str, Any]:
    """Return how the job takes checkpoints."""
    return checkpoints_body.config(served.config.checkpointing)


@router.get("/jobs/{jobid}/checkpoints/details/{checkpointid}")
def details(served: ServedJob, checkpointid: CheckpointNumber) -> dict[str, Any]:
    """Return one checkpoint with its tasks."""
    seen, checkpoint = _find(served, checkpointid)
    return checkpoints_body.details(
        checkpoint, seen, served.config.checkpointing, _vertices(served, checkpoint)
    )


@router.get("/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}")
def subtasks(served: ServedJob, checkpointid: CheckpointNumber, vertexid: VertexId) -> dict[str, Any]:
    """Return one vertex of a checkpoint with its subtasks."""
    _, checkpoint = _find(served, checkpointid)
    vertex = find_vertex(_vertices(served, checkpoint), vertexid)
    if vertex is None:
        raise Refusal(404, f"There is no checkpoint statistics for task {vertexid}.")
    return checkpoints_body.subtasks(checkpoint, vertex)


@router.get("/jobs/{jobid}/checkpoints/{triggerid}")
def result(served: ServedJob, triggered: Triggered, triggerid: TriggerId) -> dict[str, Any]:
    """Return what became of a checkpoint that was triggered."""
    future = operation(triggered, Kind.CHECKPOINT, triggerid, f" for job {served.job.job_id}")
    if not future.done():
        return operations_body.IN_PROGRESS
    error = future.exception()
    return (
        operations_body.checkpoint(future.result())
        if error is None
        else operations_body.checkpoint_failure(error)
    )


def _vertices(served: Served, checkpoint: Ended | PendingCheckpoint) -> list[Vertex]:
    return complete(vertices_of(checkpoint), tasks_body.vertices(served), checkpoint)


def _find(served: Served, checkpoint_id: int) -> tuple[Checkpoints, Ended | PendingCheckpoint]:
    seen = served.checkpoints_with_savepoints()
    checkpoint = seen.find(checkpoint_id) or next(iter(served.attempts(checkpoint_id)), None)
    if checkpoint is None:
        raise Refusal(404, f"Could not find checkpointing statistics for checkpoint {checkpoint_id}.")
    return seen, checkpoint
