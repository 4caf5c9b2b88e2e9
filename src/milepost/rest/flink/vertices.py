"""`/jobs/:jobid/vertices/:vertexid`; all tasks of a batch share the state and the times of the job."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends

from milepost.rest.flink import task_info
from milepost.rest.flink.job_vertex import Vertex, find_vertex
from milepost.rest.flink.task_info import DRIVER, NOT_YET
from milepost.rest.server.parameters import RequestedView, VertexId
from milepost.rest.server.refusal import Refusal
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import JobView

router = APIRouter(tags=["vertices"])


def vertex_of(view: RequestedView, vertexid: VertexId) -> Vertex:
    """Return the vertex with the id in the path."""
    found = find_vertex(task_info.list_vertices(view), vertexid)
    if found is None:
        raise Refusal(404, f"JobVertex {vertexid} not found")
    return found


Found = Annotated[Vertex, Depends(vertex_of)]


@router.get("/jobs/{jobid}/vertices/{vertexid}")
def details(view: RequestedView, found: Found) -> dict[str, Any]:
    """Return a vertex with its tasks."""
    return details_body(view, found, view.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasktimes")
def subtask_times(view: RequestedView, found: Found) -> dict[str, Any]:
    """Return when each task entered its states."""
    return subtask_times_body(view, found, view.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/taskmanagers")
def taskmanagers(view: RequestedView, found: Found) -> dict[str, Any]:
    """Return the task managers that run a vertex."""
    return taskmanagers_body(view, found, view.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/accumulators")
def accumulators(found: Found) -> dict[str, Any]:
    """Return the accumulators of a vertex; the list is always empty."""
    return accumulators_body(found)


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/accumulators")
def subtask_accumulators(found: Found) -> dict[str, Any]:
    """Return the accumulators of each task; the lists are always empty."""
    return subtask_accumulators_body(found)


@router.get("/jobs/{jobid}/vertices/{vertexid}/backpressure")
def back_pressure(found: Found) -> dict[str, Any]:
    """Return the status `deprecated`: back pressure is not measured; a batch reads only as fast as it writes."""
    return {"status": "deprecated"}


@router.get("/jobs/{jobid}/vertices/{vertexid}/watermarks")
def watermarks(found: Found) -> list[Any]:
    """Return the watermarks of a vertex; the list is always empty, because Spark has one watermark per query."""
    return []


def details_body(view: JobView, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return a vertex with its tasks."""
    subtasks = [_subtask(view, vertex, index, now) for index in sorted(vertex.subtasks)]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": len(vertex.subtasks),
        "maxParallelism": NOT_YET,
        "now": milliseconds(now),
        "subtasks": subtasks,
        "aggregated": task_info.aggregate_tasks(
            [each["metrics"] for each in subtasks], [each["status-duration"] for each in subtasks]
        ),
    }


def subtask_times_body(view: JobView, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return when each task entered its states."""
    times = task_info.job_times(view.job, now)
    stamps = dict.fromkeys(task_info.TASK_STATES, 0) | {
        task_info.task_state(view.job.status): times["start-time"]
    }
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": milliseconds(now),
        "subtasks": [
            {
                "subtask": index,
                "host": DRIVER,
                "endpoint": DRIVER,
                "duration": times["duration"],
                "timestamps": stamps,
            }
            for index in sorted(vertex.subtasks)
        ],
    }


def taskmanagers_body(view: JobView, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return the driver on behalf of all executors, because no request queries Spark."""
    state = task_info.task_state(view.job.status)
    times = task_info.job_times(view.job, now)
    metrics = task_info.vertex_io(vertex, view.job.latest_progress)
    one = {
        "host": DRIVER,
        "endpoint": DRIVER,
        "status": state,
        **times,
        "metrics": metrics,
        "status-counts": task_info.count_by_state(state, len(vertex.subtasks)),
        "taskmanager-id": DRIVER,
        "aggregated": task_info.aggregate_tasks(
            [metrics], [task_info.state_durations(state, times["duration"])]
        ),
    }
    return {"id": vertex.id, "name": vertex.name, "now": milliseconds(now), "taskmanagers": [one]}


def accumulators_body(vertex: Vertex) -> dict[str, Any]:
    """Return the accumulators of a vertex: none."""
    return {"id": vertex.id, "user-accumulators": []}


def subtask_accumulators_body(vertex: Vertex) -> dict[str, Any]:
    """Return the accumulators of each task: none."""
    return {
        "id": vertex.id,
        "parallelism": len(vertex.subtasks),
        "subtasks": [
            {"subtask": index, "attempt": 0, "host": DRIVER, "endpoint": DRIVER, "user-accumulators": []}
            for index in sorted(vertex.subtasks)
        ],
    }


def _subtask(view: JobView, vertex: Vertex, index: int, now: datetime) -> dict[str, Any]:
    state = task_info.task_state(view.job.status)
    times = task_info.job_times(view.job, now)
    return {
        "subtask": index,
        "status": state,
        "attempt": view.job.restarts,
        "host": DRIVER,
        "endpoint": DRIVER,
        **times,
        "start_time": times["start-time"],
        "metrics": task_info.subtask_io(vertex, index),
        "taskmanager-id": DRIVER,
        "status-duration": task_info.state_durations(state, times["duration"]),
    }
