"""Parameters and dependencies that routes share: ids in paths, the job, the operations of the server."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from milepost.rest.server.refusal import Refusal
from milepost.rest.view.job_view import JobView
from milepost.rest.view.operations import Kind, Operations

HEX = r"^[0-9a-f]{32}$"

JobId = Annotated[str, Path(pattern=HEX)]
TriggerId = Annotated[str, Path(pattern=HEX)]
VertexId = Annotated[str, Path(pattern=HEX)]
CheckpointNumber = Annotated[int, Path(ge=0, lt=2**63)]
ChosenId = Annotated[str | None, Field(pattern=HEX)]


class Body(BaseModel):
    """The body of a request: as in Flink, unknown fields are refused and every field is optional."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, strict=True)


# These never block, so they run in the event loop: a dependency that is not async costs a switch to another thread.


async def server_view(request: Request) -> JobView:
    """Return the job of this server."""
    found: JobView = request.app.state.view
    return found


async def requested_view(jobid: JobId, request: Request) -> JobView:
    """Return the job with the id in the path."""
    view = await server_view(request)
    if view.job.job_id != jobid:
        raise Refusal(404, f"Job {jobid} not found")
    return view


async def server_operations(request: Request) -> Operations:
    """Return the operations that were triggered on this server."""
    found: Operations = request.app.state.operations
    return found


async def mark_end_reported(request: Request) -> None:
    """Record that a client is about to learn how the job ended; checked before the response is built."""
    if (await server_view(request)).job.status.is_terminal:
        (await server_operations(request)).mark_end_reported()


ReportsState = Depends(mark_end_reported)
ServerView = Annotated[JobView, Depends(server_view)]
RequestedView = Annotated[JobView, Depends(requested_view)]
ServerOperations = Annotated[Operations, Depends(server_operations)]


def find_operation(operations: Operations, kind: Kind, trigger_id: str, whose: str) -> Future[Any]:
    """Return a triggered operation; `whose` completes the error message if there is none."""
    future = operations.find(kind, trigger_id)
    if future is None:
        raise Refusal(404, f"There is no {kind.value} operation with triggerId={trigger_id}{whose}.")
    return future
