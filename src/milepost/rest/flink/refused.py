"""What Flink's clients may ask and a single job cannot do: each is refused with a sentence that says what to do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from milepost.rest.server.parameters import ServedHere, ServedJob
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["refused"])

_NO_JARS = "This server runs one job and takes no jars. Start a pipeline with `milepost run FILE`."
_BY_GET = "GET changes nothing here. Use PATCH /jobs/:jobid?mode=cancel."


@router.get("/jars")
def jars(served: ServedHere) -> dict[str, Any]:
    """Return the jars that were uploaded: none ever are."""
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
    """Refuse to shut the cluster down: the driver ends with its job, and which end is meant must be said."""
    raise Refusal(
        403,
        "The driver ends with its job. Use PATCH /jobs/:jobid?mode=cancel, or POST /jobs/:jobid/stop for a savepoint.",
    )


@router.put("/jobs/{jobid}/resource-requirements")
def rescale(_: ServedJob) -> None:
    """Refuse another parallelism: Spark decides it, and state is bound to it."""
    raise Refusal(
        403,
        "The parallelism of a running job cannot be changed. "
        "Stop it, and set spark.master or spark.sql.shuffle.partitions.",
    )


@router.get("/jobs/{jobid}/yarn-cancel", status_code=405, response_description=_BY_GET)
@router.get("/jobs/{jobid}/yarn-stop", status_code=405, response_description=_BY_GET)
def cancel_by_get(_: ServedJob) -> None:
    """Refuse to end a job by a GET, which any link could send."""
    raise Refusal(405, _BY_GET)
