"""The job as a whole: what it is, how it does, its end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.rest.body import exceptions, jobs
from milepost.rest.refusal import Refusal
from milepost.rest.route.parameters import ServedHere, ServedJob

router = APIRouter(tags=["jobs"])


@router.get("/jobs")
def ids(served: ServedHere) -> dict[str, Any]:
    """Return ids and states."""
    return jobs.ids(served.job)


@router.get("/jobs/overview")
def overview(served: ServedHere) -> dict[str, Any]:
    """Return an overview over the jobs."""
    return jobs.overview(served, served.now())


@router.get("/jobs/{jobid}")
def details(served: ServedJob) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    return jobs.details(served, served.now())


@router.get("/jobs/{jobid}/status")
def status(served: ServedJob) -> dict[str, Any]:
    """Return the state alone."""
    return {"status": served.job.status.value}


@router.get("/jobs/{jobid}/config")
def config(served: ServedJob) -> dict[str, Any]:
    """Return how the job is run."""
    return jobs.configuration(served.job.job_id, served.config)


@router.get("/jobs/{jobid}/exceptions")
def failures(
    served: ServedJob, limit: Annotated[int, Query(alias="maxExceptions", ge=0, le=1000)] = 20
) -> dict[str, Any]:
    """Return what ended the attempts of the job."""
    return exceptions.history(served.exceptions(), served.job.job_id, limit)


@router.patch("/jobs/{jobid}", status_code=202)
def cancel(served: ServedJob, mode: Annotated[str, Query(max_length=16)] = "cancel") -> dict[str, Any]:
    """Cancel the job at the next boundary."""
    if mode == "stop":
        raise Refusal(
            308,
            'The termination mode "stop" has been removed. For an ungraceful shutdown, please use "cancel" instead. '
            'For a graceful shutdown, please use "jobs/:jobId/stop" instead.',
        )
    if mode != "cancel":
        raise Refusal(400, "Bad request, could not parse parameters: mode is not cancel.")
    current = served.job.status
    if current.is_terminal and current.value != "CANCELED":
        raise Refusal(
            409,
            "Job cancellation failed because the job has already reached another terminal state "
            f"({current.value}).",
        )
    served.job.cancel()
    return {}
