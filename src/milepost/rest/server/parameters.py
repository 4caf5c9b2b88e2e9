"""What the routes have in common: ids in paths, the job they mean, the operations of the server."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from milepost.rest.server.refusal import Refusal
from milepost.rest.view.live_view import Served
from milepost.rest.view.operations import Kind, Operations

HEX = r"^[0-9a-f]{32}$"

JobId = Annotated[str, Path(pattern=HEX)]
TriggerId = Annotated[str, Path(pattern=HEX)]
VertexId = Annotated[str, Path(pattern=HEX)]
CheckpointNumber = Annotated[int, Path(ge=0, lt=2**63)]
ChosenId = Annotated[str | None, Field(pattern=HEX)]


class Body(BaseModel):
    """A request's body: as in Flink's server an unknown field is refused, and every field may be left out."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, strict=True)


# These wait for nothing, so they run in the loop: each one that is not async costs a request a way to another thread.


async def served_of(request: Request) -> Served:
    """Return what this server serves."""
    found: Served = request.app.state.served
    return found


async def job_of(jobid: JobId, request: Request) -> Served:
    """Return the job of an id."""
    served = await served_of(request)
    if served.job.job_id != jobid:
        raise Refusal(404, f"Job {jobid} not found")
    return served


async def operations_of(request: Request) -> Operations:
    """Return what was triggered here."""
    found: Operations = request.app.state.operations
    return found


async def tell_end(request: Request) -> None:
    """Take note that a client is about to be told how the job ended; looked at before the answer is made."""
    if (await served_of(request)).job.status.is_terminal:
        (await operations_of(request)).tell_end()


TellsState = Depends(tell_end)
ServedHere = Annotated[Served, Depends(served_of)]
ServedJob = Annotated[Served, Depends(job_of)]
Triggered = Annotated[Operations, Depends(operations_of)]


def operation(operations: Operations, kind: Kind, trigger_id: str, whose: str) -> Future[Any]:
    """Return an operation that was triggered; `whose` ends the sentence where there is none."""
    future = operations.find(kind, trigger_id)
    if future is None:
        raise Refusal(404, f"There is no {kind.value} operation with triggerId={trigger_id}{whose}.")
    return future
