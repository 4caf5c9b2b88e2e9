"""`/jobs`: overview, details, configuration, result and cancellation of the job."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.config import Config
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.flink import operation_results, task_info
from milepost.rest.flink.job_vertex import Vertex, vertex_id
from milepost.rest.flink.task_info import NOT_YET
from milepost.rest.server.parameters import (
    ReportsState,
    RequestedView,
    ServerOperations,
    ServerView,
)
from milepost.rest.server.refusal import Refusal
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import JobView, RunningJob

router = APIRouter(tags=["jobs"])

# Flink's states, in the order of its JSON.
STATES = (
    "FAILING",
    "CANCELLING",
    "INITIALIZING",
    "RECONCILING",
    "SUSPENDED",
    "FINISHED",
    "FAILED",
    "CREATED",
    "RUNNING",
    "RESTARTING",
    "CANCELED",
)
_APPLICATION = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FAILED: "FAILED",
}


@router.get("/jobs", dependencies=[ReportsState])
def ids(view: ServerView) -> dict[str, Any]:
    """Return the ids and states of the jobs."""
    return ids_body(view.job)


@router.get("/jobs/overview", dependencies=[ReportsState])
def overview(view: ServerView) -> dict[str, Any]:
    """Return an overview of the jobs."""
    return overview_body(view, view.now())


@router.get("/jobs/{jobid}", dependencies=[ReportsState])
def details(view: RequestedView) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    return details_body(view, view.now())


@router.get("/jobs/{jobid}/status", dependencies=[ReportsState])
def status(view: RequestedView) -> dict[str, Any]:
    """Return the state of the job."""
    return {"status": view.job.status.value}


@router.get("/jobs/{jobid}/config")
def config(view: RequestedView) -> dict[str, Any]:
    """Return the configuration of the job."""
    return config_body(view.job.job_id, view.config)


@router.get("/jobs/{jobid}/plan")
def plan(view: RequestedView) -> dict[str, Any]:
    """Return the dataflow plan of the job."""
    return plan_body(view)


@router.get("/jobs/{jobid}/accumulators")
def accumulators(
    _: RequestedView,
    with_serialized: Annotated[bool, Query(alias="includeSerializedValue")] = False,
) -> dict[str, Any]:
    """Return the accumulators; the lists are always empty."""
    return accumulators_body(with_serialized=with_serialized)


@router.get("/jobs/{jobid}/resource-requirements")
def requirements(view: RequestedView) -> dict[str, Any]:
    """Return the parallelism of every vertex."""
    return requirements_body(view)


@router.get("/jobs/{jobid}/execution-result", dependencies=[ReportsState])
def execution_result(view: RequestedView) -> dict[str, Any]:
    """Return the result of the job once it has ended."""
    return execution_result_body(view.job, view.now())


@router.patch("/jobs/{jobid}", status_code=202)
def cancel(
    view: RequestedView, operations: ServerOperations, mode: Annotated[str, Query(max_length=16)] = "cancel"
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
    current = view.job.status
    if current.is_terminal and current.value != "CANCELED":
        raise Refusal(
            409,
            "Job cancellation failed because the job has already reached another terminal state "
            f"({current.value}).",
        )
    operations.mark_end_awaited()
    view.job.cancel()
    return {}


def ids_body(job: RunningJob) -> dict[str, Any]:
    """Return the jobs of this server; there is exactly one."""
    return {"jobs": [{"id": job.job_id, "status": job.status.value}]}


def overview_body(view: JobView, now: datetime) -> dict[str, Any]:
    """Return the jobs with the fields of a list."""
    job = view.job
    total = sum(len(vertex.subtasks) for vertex in task_info.list_vertices(view))
    states = task_info.count_by_state(task_info.task_state(job.status), total)
    return {
        "jobs": [
            {
                "jid": job.job_id,
                "name": view.config.name,
                **task_info.job_times(job, now),
                "state": job.status.value,
                "last-modification": max(map(milliseconds, job.moved_at.values()), default=0),
                "tasks": {"total": total, **{name.lower(): count for name, count in states.items()}},
                "pending-operators": 0,
                "jobType": "STREAMING",
                "schedulerType": "Default",
            }
        ]
    }


def details_body(view: JobView, now: datetime) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    job, config = view.job, view.config
    times, state = task_info.job_times(job, now), task_info.task_state(job.status)
    vertices = task_info.list_vertices(view)
    reached = {status.value: milliseconds(moment) for status, moment in job.moved_at.items()}
    return {
        "jid": job.job_id,
        "name": config.name,
        "isStoppable": False,
        "state": job.status.value,
        "job-type": "STREAMING",
        **times,
        "maxParallelism": NOT_YET,
        "now": milliseconds(now),
        "timestamps": {name: reached.get(name, 0) for name in STATES},
        "vertices": [_vertex(vertex, state, times, job.latest_progress) for vertex in vertices],
        "status-counts": task_info.count_by_state(state, len(vertices)),
        "plan": _plan(job.job_id, config, vertices),
    }


def plan_body(view: JobView) -> dict[str, Any]:
    """Return the dataflow plan."""
    return {"plan": _plan(view.job.job_id, view.config, task_info.list_vertices(view))}


def accumulators_body(*, with_serialized: bool) -> dict[str, Any]:
    """Return empty lists: Spark has no named accumulators of the user."""
    serialized: dict[str, Any] = {"serialized-user-task-accumulators": {}} if with_serialized else {}
    return {"job-accumulators": [], "user-task-accumulators": [], **serialized}


def execution_result_body(job: RunningJob, now: datetime) -> dict[str, Any]:
    """Return the result of the job once it has ended."""
    if not job.status.is_terminal:
        return {"status": {"id": "IN_PROGRESS"}, "job-execution-result": None}
    ended = {
        "id": job.job_id,
        "application-status": _APPLICATION[job.status],
        "accumulator-results": {},
        "net-runtime": task_info.job_times(job, now)["duration"],
    }
    if job.error is not None:
        ended["failure-cause"] = operation_results.failure_cause(job.error)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": ended}


def requirements_body(view: JobView) -> dict[str, Any]:
    """Return the parallelism of every vertex as both bounds: Spark alone determines it."""
    return {
        vertex.id: {"parallelism": dict.fromkeys(("lowerBound", "upperBound"), len(vertex.subtasks))}
        for vertex in task_info.list_vertices(view)
    }


def config_body(job_id: str, config: Config) -> dict[str, Any]:
    """Return the configuration of the job, with secrets masked."""
    parallelism = config.spark.conf.get("spark.sql.shuffle.partitions")
    return {
        "jid": job_id,
        "name": config.name,
        "execution-config": {
            "execution-mode": "PIPELINED",
            "restart-strategy": config.restart.strategy,
            "job-parallelism": int(parallelism) if parallelism and parallelism.isdigit() else NOT_YET,
            "object-reuse-mode": False,
            "user-config": settings(config),
        },
    }


def settings(config: Config) -> dict[str, str]:
    """Return every setting by its key for --set, with secrets masked."""
    return {key: _text(value) for key, value in _flatten(config.redacted())}


def _vertex(vertex: Vertex, state: str, times: dict[str, int], progress: Progress | None) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "slotSharingGroupId": vertex_id("slot"),
        "name": vertex.name,
        "maxParallelism": NOT_YET,
        "parallelism": len(vertex.subtasks),
        "status": state,
        **times,
        "tasks": task_info.count_by_state(state, len(vertex.subtasks)),
        "metrics": task_info.vertex_io(vertex, progress),
    }


def _plan(job_id: str, config: Config, vertices: list[Vertex]) -> dict[str, Any]:
    sources = [vertex for vertex in vertices if vertex.name.startswith("Source: ")]
    return {
        "jid": job_id,
        "name": config.name,
        "type": "STREAMING",
        "nodes": [_node(vertex, [] if vertex in sources else sources) for vertex in vertices],
    }


def _node(vertex: Vertex, inputs: list[Vertex]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": vertex.id,
        "parallelism": len(vertex.subtasks),
        "operator": "",
        "operator_strategy": "",
        "description": vertex.name,
        "optimizer_properties": {},
    }
    if inputs:
        edge = {"ship_strategy": "FORWARD", "exchange": "pipelined_bounded"}
        node["inputs"] = [{"num": number, "id": each.id, **edge} for number, each in enumerate(inputs)]
    return node


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _flatten(tree: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return nested settings with dotted keys, as for --set."""
    if isinstance(tree, dict) and tree:
        return [
            pair
            for key, value in tree.items()
            for pair in _flatten(value, f"{prefix}.{key}" if prefix else key)
        ]
    return [(prefix, tree)]
