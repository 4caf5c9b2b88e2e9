"""Requests of Flink's clients that a single job does not support; each error says what to do instead."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from milepost.rest.server.parameters import RequestedView, ServerView
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["refused"])

_NO_JARS = (
    "This server runs a single job and does not accept jars. Start a pipeline with `milepost run FILE`."
)
_BY_GET = "A GET request cannot change a job. Use PATCH /jobs/:jobid?mode=cancel."


@router.get("/jars")
def jars(view: ServerView) -> dict[str, Any]:
    """Return the uploaded jars; the list is always empty."""
    return {"address": "", "files": []}


@router.post("/jars/upload")
def upload() -> None:
    """Refuse a jar."""
    raise Refusal(403, _NO_JARS)


@router.post("/jars/{jarid}/run")
def run(jarid: str) -> None:
    """Refuse to run a jar."""
    raise Refusal(403, _NO_JARS)


@router.delete("/cluster")
def shut_down() -> None:
    """Refuse to shut the cluster down: the driver ends with its job, and a client must choose how to end it."""
    raise Refusal(
        403,
        "The driver ends with its job. Use PATCH /jobs/:jobid?mode=cancel, or POST /jobs/:jobid/stop for a savepoint.",
    )


@router.put("/jobs/{jobid}/resource-requirements")
def rescale(_: RequestedView) -> None:
    """Refuse to change the parallelism: Spark determines it, and state depends on it."""
    raise Refusal(
        403,
        "The parallelism of a running job cannot be changed. "
        "Stop the job and set spark.master or spark.sql.shuffle.partitions.",
    )


@router.get("/jobs/{jobid}/yarn-cancel", status_code=405, response_description=_BY_GET)
@router.get("/jobs/{jobid}/yarn-stop", status_code=405, response_description=_BY_GET)
def cancel_by_get(_: RequestedView) -> None:
    """Refuse to end a job with a GET, which any link could send."""
    raise Refusal(405, _BY_GET)
