"""The job as a whole: what it is, how it does, its end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.rest.flink import exceptions_body, jobs_body
from milepost.rest.server.parameters import (
    ServedHere,
    ServedJob,
    TellsState,
    Triggered,
)
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["jobs"])


@router.get("/jobs", dependencies=[TellsState])
def ids(served: ServedHere) -> dict[str, Any]:
    """Return ids and states."""
    return jobs_body.ids(served.job)


@router.get("/jobs/overview", dependencies=[TellsState])
def overview(served: ServedHere) -> dict[str, Any]:
    """Return an overview over the jobs."""
    return jobs_body.overview(served, served.now())


@router.get("/jobs/{jobid}", dependencies=[TellsState])
def details(served: ServedJob) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    return jobs_body.details(served, served.now())


@router.get("/jobs/{jobid}/status", dependencies=[TellsState])
def status(served: ServedJob) -> dict[str, Any]:
    """Return the state alone."""
    return {"status": served.job.status.value}


@router.get("/jobs/{jobid}/config")
def config(served: ServedJob) -> dict[str, Any]:
    """Return how the job is run."""
    return jobs_body.configuration(served.job.job_id, served.config)


@router.get("/jobs/{jobid}/plan")
def plan(served: ServedJob) -> dict[str, Any]:
    """Return the dataflow."""
    return jobs_body.plan(served)


@router.get("/jobs/{jobid}/accumulators")
def accumulators(
    _: ServedJob,
    with_serialized: Annotated[bool, Query(alias="includeSerializedValue")] = False,
) -> dict[str, Any]:
    """Return the accumulators, of which there are none."""
    return jobs_body.accumulators(with_serialized=with_serialized)


@router.get("/jobs/{jobid}/resource-requirements")
def requirements(served: ServedJob) -> dict[str, Any]:
    """Return the parallelism of every vertex."""
    return jobs_body.requirements(served)


@router.get("/jobs/{jobid}/execution-result", dependencies=[TellsState])
def execution_result(served: ServedJob) -> dict[str, Any]:
    """Return how the job ended, once it has."""
    return jobs_body.result(served.job, served.now())


@router.get("/jobs/{jobid}/exceptions")
def failures(
    served: ServedJob, limit: Annotated[int, Query(alias="maxExceptions", ge=0, le=1000)] = 20
) -> dict[str, Any]:
    """Return what ended the attempts of the job."""
    return exceptions_body.history(served.exceptions(), served.job.job_id, limit)


@router.patch("/jobs/{jobid}", status_code=202)
def cancel(
    served: ServedJob, triggered: Triggered, mode: Annotated[str, Query(max_length=16)] = "cancel"
) -> dict[str, Any]:
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
    triggered.await_end()
    served.job.cancel()
    return {}
