"""The vertices of a job: who reads, keeps state, writes and takes part."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from milepost.rest.flink import tasks_body, vertex_body
from milepost.rest.flink.vertices_body import Vertex, find_vertex
from milepost.rest.server.parameters import ServedJob, VertexId
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["vertices"])


def vertex_of(served: ServedJob, vertexid: VertexId) -> Vertex:
    """Return the vertex of an id."""
    found = find_vertex(tasks_body.vertices(served), vertexid)
    if found is None:
        raise Refusal(404, f"JobVertex {vertexid} not found")
    return found


Found = Annotated[Vertex, Depends(vertex_of)]


@router.get("/jobs/{jobid}/vertices/{vertexid}")
def details(served: ServedJob, found: Found) -> dict[str, Any]:
    """Return a vertex with its tasks."""
    return vertex_body.details(served, found, served.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasktimes")
def subtask_times(served: ServedJob, found: Found) -> dict[str, Any]:
    """Return when each task came into its states."""
    return vertex_body.subtask_times(served, found, served.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/taskmanagers")
def taskmanagers(served: ServedJob, found: Found) -> dict[str, Any]:
    """Return where the tasks of a vertex run."""
    return vertex_body.taskmanagers(served, found, served.now())


@router.get("/jobs/{jobid}/vertices/{vertexid}/accumulators")
def accumulators(found: Found) -> dict[str, Any]:
    """Return the accumulators of a vertex, of which there are none."""
    return vertex_body.accumulators(found)


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/accumulators")
def subtask_accumulators(found: Found) -> dict[str, Any]:
    """Return the accumulators of each task, of which there are none."""
    return vertex_body.subtask_accumulators(found)


@router.get("/jobs/{jobid}/vertices/{vertexid}/backpressure")
def back_pressure(found: Found) -> dict[str, Any]:
    """Return that back pressure is not measured; a batch has none."""
    return vertex_body.back_pressure()


@router.get("/jobs/{jobid}/vertices/{vertexid}/watermarks")
def watermarks(found: Found) -> list[Any]:
    """Return the watermarks of a vertex's tasks: Spark keeps one per query, which no task has of its own."""
    return []
