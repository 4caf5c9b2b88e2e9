"""`/jobs/:jobid/savepoints`, `/stop` and `/savepoint-disposal`: take, stop with and dispose of savepoints."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.errors import MilepostError
from milepost.job import registry
from milepost.rest.flink import operation_results
from milepost.rest.server.parameters import (
    Body,
    ChosenId,
    RequestedView,
    ServerOperations,
    ServerView,
    TriggerId,
    find_operation,
)
from milepost.rest.view.job_view import JobView
from milepost.rest.view.operations import Kind
from milepost.rest.view.savepoint_targets import resolve_directory

router = APIRouter(tags=["savepoints"])

Format = Literal["CANONICAL", "NATIVE"] | None


class SavepointTriggerRequestBody(Body):
    """The options of a savepoint; kebab-case, unlike those of a stop."""

    target_directory: str | None = Field(default=None, alias="target-directory")
    cancel_job: bool | None = Field(default=None, alias="cancel-job")
    formatType: Format = None
    triggerId: ChosenId = None


class StopWithSavepointRequestBody(Body):
    """The options of a stop; camelCase, unlike those of a savepoint."""

    targetDirectory: str | None = None
    drain: bool | None = None
    formatType: Format = None
    triggerId: ChosenId = None


class SavepointDisposalRequest(Body):
    """The savepoint to dispose of."""

    savepoint_path: str = Field(alias="savepoint-path")


@router.post("/jobs/{jobid}/savepoints", status_code=202)
def take(
    view: RequestedView, operations: ServerOperations, body: SavepointTriggerRequestBody | None = None
) -> dict[str, Any]:
    """Take a savepoint; with cancel-job, stop the job with it."""
    asked = body or SavepointTriggerRequestBody()
    directory = _directory(view, asked.target_directory, "target-directory")
    start = view.job.stop_with_savepoint if asked.cancel_job else view.job.trigger_savepoint
    trigger_id = operations.start(Kind.SAVEPOINT, asked.triggerId, lambda: start(directory))
    return operation_results.trigger_response(trigger_id)


@router.post("/jobs/{jobid}/stop", status_code=202)
def stop(
    view: RequestedView, operations: ServerOperations, body: StopWithSavepointRequestBody | None = None
) -> dict[str, Any]:
    """Stop the job with a savepoint."""
    asked = body or StopWithSavepointRequestBody()
    directory = _directory(view, asked.targetDirectory, "targetDirectory")
    trigger_id = operations.start(
        Kind.SAVEPOINT,
        asked.triggerId,
        lambda: view.job.stop_with_savepoint(directory, drain=bool(asked.drain)),
    )
    return operation_results.trigger_response(trigger_id)


@router.get("/jobs/{jobid}/savepoints/{triggerid}")
def result(view: RequestedView, operations: ServerOperations, triggerid: TriggerId) -> dict[str, Any]:
    """Return the result of a savepoint or of a stop."""
    future = find_operation(operations, Kind.SAVEPOINT, triggerid, f" for job {view.job.job_id}")
    if not future.done():
        return operation_results.IN_PROGRESS
    error = future.exception()
    return (
        operation_results.savepoint_result(str(future.result().path))
        if error is None
        else operation_results.failure_result(error)
    )


@router.post("/savepoint-disposal")
def dispose(view: ServerView, operations: ServerOperations, body: SavepointDisposalRequest) -> dict[str, Any]:
    """Dispose of a savepoint in the configured directory."""
    path = resolve_directory(view.config.checkpointing.savepoint_dir, body.savepoint_path, "savepoint-path")
    return operation_results.trigger_response(
        operations.start(Kind.DISPOSAL, None, lambda: _dispose(str(path)))
    )


@router.get("/savepoint-disposal/{triggerid}")
def disposal(operations: ServerOperations, triggerid: TriggerId) -> dict[str, Any]:
    """Return the result of a disposal."""
    future = find_operation(operations, Kind.DISPOSAL, triggerid, "")
    error = future.exception()
    return operation_results.disposal_result() if error is None else operation_results.failure_result(error)


def _directory(view: JobView, wanted: str | None, field: str) -> str | None:
    root = view.config.checkpointing.savepoint_dir
    return resolve_directory(root, wanted, field, registry.grants(view.job.job_id))


def _dispose(path: str) -> Future[Savepoint]:
    """Dispose of a savepoint synchronously: it has few files, and the request has its own thread."""
    future: Future[Savepoint] = Future()
    try:
        future.set_result(catalog.dispose(path))
    except (MilepostError, OSError) as error:
        future.set_exception(error)
    return future
