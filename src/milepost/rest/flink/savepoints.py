"""The savepoints of a job: take one, stop with one, dispose of one."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.errors import MilepostError
from milepost.job import registry
from milepost.rest.flink import operations_body
from milepost.rest.server.parameters import (
    Body,
    ChosenId,
    ServedHere,
    ServedJob,
    Triggered,
    TriggerId,
    operation,
)
from milepost.rest.view.live_view import Served
from milepost.rest.view.operations import Kind
from milepost.rest.view.savepoint_targets import directory_for

router = APIRouter(tags=["savepoints"])

Format = Literal["CANONICAL", "NATIVE"] | None


class SavepointTriggerRequestBody(Body):
    """How a savepoint is taken; kebab-case, unlike that of a stop."""

    target_directory: str | None = Field(default=None, alias="target-directory")
    cancel_job: bool | None = Field(default=None, alias="cancel-job")
    formatType: Format = None
    triggerId: ChosenId = None


class StopWithSavepointRequestBody(Body):
    """How a job is stopped; camelCase, unlike that of a savepoint."""

    targetDirectory: str | None = None
    drain: bool | None = None
    formatType: Format = None
    triggerId: ChosenId = None


class SavepointDisposalRequest(Body):
    """Which savepoint is disposed of."""

    savepoint_path: str = Field(alias="savepoint-path")


@router.post("/jobs/{jobid}/savepoints", status_code=202)
def take(
    served: ServedJob, triggered: Triggered, body: SavepointTriggerRequestBody | None = None
) -> dict[str, Any]:
    """Take a savepoint; with cancel-job the job finishes with it."""
    asked = body or SavepointTriggerRequestBody()
    directory = _directory(served, asked.target_directory, "target-directory")
    start = served.job.stop_with_savepoint if asked.cancel_job else served.job.trigger_savepoint
    trigger_id = triggered.begin(Kind.SAVEPOINT, asked.triggerId, lambda: start(directory))
    return operations_body.triggered(trigger_id)


@router.post("/jobs/{jobid}/stop", status_code=202)
def stop(
    served: ServedJob, triggered: Triggered, body: StopWithSavepointRequestBody | None = None
) -> dict[str, Any]:
    """Finish the job with a savepoint."""
    asked = body or StopWithSavepointRequestBody()
    directory = _directory(served, asked.targetDirectory, "targetDirectory")
    trigger_id = triggered.begin(
        Kind.SAVEPOINT,
        asked.triggerId,
        lambda: served.job.stop_with_savepoint(directory, drain=bool(asked.drain)),
    )
    return operations_body.triggered(trigger_id)


@router.get("/jobs/{jobid}/savepoints/{triggerid}")
def result(served: ServedJob, triggered: Triggered, triggerid: TriggerId) -> dict[str, Any]:
    """Return what became of a savepoint, or of a stop."""
    future = operation(triggered, Kind.SAVEPOINT, triggerid, f" for job {served.job.job_id}")
    if not future.done():
        return operations_body.IN_PROGRESS
    error = future.exception()
    return (
        operations_body.savepoint(str(future.result().path))
        if error is None
        else operations_body.failure(error)
    )


@router.post("/savepoint-disposal")
def dispose(served: ServedHere, triggered: Triggered, body: SavepointDisposalRequest) -> dict[str, Any]:
    """Remove a savepoint of the configured directory."""
    path = directory_for(served.config.checkpointing.savepoint_dir, body.savepoint_path, "savepoint-path")
    return operations_body.triggered(triggered.begin(Kind.DISPOSAL, None, lambda: _disposed(str(path))))


@router.get("/savepoint-disposal/{triggerid}")
def disposal(triggered: Triggered, triggerid: TriggerId) -> dict[str, Any]:
    """Return what became of a savepoint that was to be removed."""
    future = operation(triggered, Kind.DISPOSAL, triggerid, "")
    error = future.exception()
    return operations_body.disposed() if error is None else operations_body.failure(error)


def _directory(served: Served, wanted: str | None, field: str) -> str | None:
    root = served.config.checkpointing.savepoint_dir
    return directory_for(root, wanted, field, registry.grants(served.job.job_id))


def _disposed(path: str) -> Future[Savepoint]:
    """Remove it at once: the files of a savepoint are few, and the request has a thread of its own."""
    future: Future[Savepoint] = Future()
    try:
        future.set_result(catalog.dispose(path))
    except (MilepostError, OSError) as error:
        future.set_exception(error)
    return future
