"""What the job tells in numbers: for Prometheus, and as Flink's REST interface has it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import Response
from pydantic import StringConstraints, WithJsonSchema

from milepost.rest.flink import metrics_body
from milepost.rest.flink.vertices_body import vertex_id
from milepost.rest.metrics.exposition import TASK_MANAGER, exposition
from milepost.rest.metrics.operator import SINK, source_vertex
from milepost.rest.metrics.snapshot import Moment, moment_of
from milepost.rest.server.parameters import JobId, ServedHere, VertexId
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["metrics"])
prometheus = APIRouter(tags=["metrics"])

_LONGEST = 8192
_INDEXES = r"^[0-9]{1,9}(-[0-9]{1,9})?$"
_Text = Annotated[str, StringConstraints(max_length=_LONGEST)]
Wanted = Annotated[list[_Text], Query(alias="get", default_factory=list)]
Chosen = Annotated[list[_Text], Query(default_factory=list)]
# Checked below: a list may come in one text with commas, and a mode in capitals.
Modes = Annotated[
    list[_Text],
    Query(alias="agg", default_factory=list),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(metrics_body.AGGREGATIONS)}}),
]
Indexes = Annotated[
    list[_Text],
    Query(default_factory=list),
    WithJsonSchema({"type": "array", "items": {"type": "string", "pattern": _INDEXES}}),
]
SubtaskIndex = Annotated[int, Path(ge=0, lt=2**31)]


@prometheus.get("/metrics", response_class=Response)
def scrape(served: ServedHere, accept: Annotated[str, Header(max_length=1024)] = "") -> Response:
    """Return every metric, as Prometheus text or OpenMetrics."""
    text, content_type = exposition(moment_of(served), accept)
    return Response(text, headers={"content-type": content_type})


@router.get("/jobmanager/metrics")
def of_jobmanager(served: ServedHere, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of the driver."""
    return metrics_body.collected(metrics_body.of_jobmanager(moment_of(served)), _listed(wanted))


@router.get("/jobs/metrics")
def of_jobs(served: ServedHere, wanted: Wanted, agg: Modes, jobs: Chosen) -> list[dict[str, Any]]:
    """Return metrics over the chosen jobs, of which there is one."""
    modes, chosen = _modes(agg), _listed(jobs)
    is_chosen = not chosen or served.job.job_id in chosen
    several = [metrics_body.of_job(moment_of(served))] if is_chosen else []
    return metrics_body.aggregated(several, _listed(wanted), modes)


@router.get("/jobs/{jobid}/metrics")
def of_job(served: ServedHere, jobid: JobId, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of the job; as in Flink nothing, and no error, where there is no such job."""
    if jobid != served.job.job_id:
        return []
    return metrics_body.collected(metrics_body.of_job(moment_of(served)), _listed(wanted))


@router.get("/jobs/{jobid}/vertices/{vertexid}/metrics")
def of_vertex(served: ServedHere, jobid: JobId, vertexid: VertexId, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of a vertex."""
    moment = moment_of(served)
    name = _vertex(moment, jobid, vertexid)
    return (
        [] if name is None else metrics_body.collected(metrics_body.of_vertex(moment, name), _listed(wanted))
    )


@router.get("/jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics")
def of_coordinators(jobid: JobId, vertexid: VertexId) -> list[dict[str, str]]:
    """Return the metrics of operators on the job manager: there are none."""
    return []


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/metrics")
def of_subtasks(
    served: ServedHere,
    jobid: JobId,
    vertexid: VertexId,
    wanted: Wanted,
    agg: Modes,
    subtasks: Indexes,
) -> list[dict[str, Any]]:
    """Return metrics over the chosen subtasks of a vertex, of which there is one."""
    moment, modes = moment_of(served), _modes(agg)
    name = _vertex(moment, jobid, vertexid)
    is_chosen = _has_first(subtasks)
    several = [metrics_body.of_subtask(moment, name)] if name is not None and is_chosen else []
    return metrics_body.aggregated(several, _listed(wanted), modes)


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics")
def of_subtask(
    served: ServedHere, jobid: JobId, vertexid: VertexId, subtaskindex: SubtaskIndex, wanted: Wanted
) -> list[dict[str, str]]:
    """Return the metrics of one subtask."""
    moment = moment_of(served)
    name = _vertex(moment, jobid, vertexid)
    if name is None or subtaskindex != 0:
        return []
    return metrics_body.collected(metrics_body.of_subtask(moment, name), _listed(wanted))


@router.get("/taskmanagers/metrics")
def of_taskmanagers(wanted: Wanted, agg: Modes, taskmanagers: Chosen) -> list[dict[str, Any]]:
    """Return metrics over task managers: what executors measure is Spark's, and nothing of it is kept here."""
    chosen = _listed(taskmanagers)
    several: list[metrics_body.Values] = [{}] if not chosen or TASK_MANAGER in chosen else []
    return metrics_body.aggregated(several, _listed(wanted), _modes(agg))


@router.get("/taskmanagers/{taskmanagerid}/metrics")
def of_taskmanager(taskmanagerid: str) -> list[dict[str, str]]:
    """Return the metrics of one task manager: there are none."""
    return []


def _vertex(moment: Moment, job_id: str, wanted: str) -> str | None:
    """Return the name of a vertex that has metrics."""
    names = [*map(source_vertex, moment.config.views), SINK] if job_id == moment.job_id else []
    return next((name for name in names if vertex_id(name) == wanted), None)


def _listed(texts: list[str]) -> list[str]:
    return [part for text in texts for part in text.split(",") if part]


def _modes(texts: list[str]) -> list[str]:
    modes = [mode.lower() for mode in _listed(texts)]
    if set(modes) - set(metrics_body.AGGREGATIONS):
        raise Refusal(400, f"Not a valid aggregation: write some of {', '.join(metrics_body.AGGREGATIONS)}.")
    return modes


def _has_first(texts: list[str]) -> bool:
    """Return whether a list of indexes such as 0-3,5 has the only one that there is, or is none at all."""
    parts = _listed(texts)
    if not all(re.fullmatch(_INDEXES, part) for part in parts):
        raise Refusal(400, "Bad request, could not parse parameters: subtasks is not a list of numbers.")
    return not parts or any(int(part.split("-")[0]) == 0 for part in parts)
