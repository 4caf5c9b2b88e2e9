"""The metrics of a job: `/metrics` for Prometheus, and Flink's REST paths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import Response
from pydantic import StringConstraints, WithJsonSchema

from milepost.rest.flink.job_vertex import vertex_id
from milepost.rest.metrics.catalog import CATALOG
from milepost.rest.metrics.exposition import TASK_MANAGER, exposition
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
)
from milepost.rest.metrics.operator import SINK, source_vertex
from milepost.rest.metrics.snapshot import Snapshot, take_snapshot
from milepost.rest.server.parameters import JobId, ServerView, VertexId
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["metrics"])
prometheus = APIRouter(tags=["metrics"])

AGGREGATIONS = ("min", "max", "avg", "sum", "skew")
Values = Mapping[str, str]
"""Metrics by id, as in Flink's metric store."""
_REPLACED = str.maketrans(" .:,", "____")
_AGGREGATORS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
    "sum": sum,
    "skew": lambda values: _skew(values),
}
_LONGEST = 8192
_INDEXES = r"^[0-9]{1,9}(-[0-9]{1,9})?$"
_Text = Annotated[str, StringConstraints(max_length=_LONGEST)]
Wanted = Annotated[list[_Text], Query(alias="get", default_factory=list)]
Chosen = Annotated[list[_Text], Query(default_factory=list)]
# Validated below: a list may be comma-separated, and a mode may be in upper case.
Modes = Annotated[
    list[_Text],
    Query(alias="agg", default_factory=list),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(AGGREGATIONS)}}),
]
Indexes = Annotated[
    list[_Text],
    Query(default_factory=list),
    WithJsonSchema({"type": "array", "items": {"type": "string", "pattern": _INDEXES}}),
]
SubtaskIndex = Annotated[int, Path(ge=0, lt=2**31)]


@prometheus.get("/metrics", response_class=Response)
def scrape(view: ServerView, accept: Annotated[str, Header(max_length=1024)] = "") -> Response:
    """Return every metric, as Prometheus text or OpenMetrics."""
    text, content_type = exposition(take_snapshot(view), accept)
    return Response(text, headers={"content-type": content_type})


@router.get("/jobmanager/metrics")
def of_jobmanager(view: ServerView, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of the driver."""
    return select_metrics(jobmanager_values(take_snapshot(view)), _split_lists(wanted))


@router.get("/jobs/metrics")
def of_jobs(view: ServerView, wanted: Wanted, agg: Modes, jobs: Chosen) -> list[dict[str, Any]]:
    """Return aggregated metrics of the selected jobs; there is exactly one job."""
    modes, chosen = _parse_modes(agg), _split_lists(jobs)
    is_chosen = not chosen or view.job.job_id in chosen
    several = [job_values(take_snapshot(view))] if is_chosen else []
    return aggregate_metrics(several, _split_lists(wanted), modes)


@router.get("/jobs/{jobid}/metrics")
def of_job(view: ServerView, jobid: JobId, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of the job; as in Flink, an unknown job has an empty list."""
    if jobid != view.job.job_id:
        return []
    return select_metrics(job_values(take_snapshot(view)), _split_lists(wanted))


@router.get("/jobs/{jobid}/vertices/{vertexid}/metrics")
def of_vertex(view: ServerView, jobid: JobId, vertexid: VertexId, wanted: Wanted) -> list[dict[str, str]]:
    """Return the metrics of a vertex."""
    snapshot = take_snapshot(view)
    name = _vertex(snapshot, jobid, vertexid)
    return [] if name is None else select_metrics(vertex_values(snapshot, name), _split_lists(wanted))


@router.get("/jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics")
def of_coordinators(jobid: JobId, vertexid: VertexId) -> list[dict[str, str]]:
    """Return the metrics of operators on the job manager; the list is always empty."""
    return []


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/metrics")
def of_subtasks(
    view: ServerView,
    jobid: JobId,
    vertexid: VertexId,
    wanted: Wanted,
    agg: Modes,
    subtasks: Indexes,
) -> list[dict[str, Any]]:
    """Return aggregated metrics of the selected subtasks of a vertex; there is exactly one subtask."""
    snapshot, modes = take_snapshot(view), _parse_modes(agg)
    name = _vertex(snapshot, jobid, vertexid)
    is_chosen = _includes_first(subtasks)
    several = [subtask_values(snapshot, name)] if name is not None and is_chosen else []
    return aggregate_metrics(several, _split_lists(wanted), modes)


@router.get("/jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics")
def of_subtask(
    view: ServerView, jobid: JobId, vertexid: VertexId, subtaskindex: SubtaskIndex, wanted: Wanted
) -> list[dict[str, str]]:
    """Return the metrics of one subtask."""
    snapshot = take_snapshot(view)
    name = _vertex(snapshot, jobid, vertexid)
    if name is None or subtaskindex != 0:
        return []
    return select_metrics(subtask_values(snapshot, name), _split_lists(wanted))


@router.get("/taskmanagers/metrics")
def of_taskmanagers(wanted: Wanted, agg: Modes, taskmanagers: Chosen) -> list[dict[str, Any]]:
    """Return aggregated metrics of task managers; empty, because executors report to Spark only."""
    chosen = _split_lists(taskmanagers)
    several: list[Values] = [{}] if not chosen or TASK_MANAGER in chosen else []
    return aggregate_metrics(several, _split_lists(wanted), _parse_modes(agg))


@router.get("/taskmanagers/{taskmanagerid}/metrics")
def of_taskmanager(taskmanagerid: str) -> list[dict[str, str]]:
    """Return the metrics of one task manager; the list is always empty."""
    return []


def _vertex(snapshot: Snapshot, job_id: str, wanted: str) -> str | None:
    """Return the name of a vertex with metrics."""
    names = [*map(source_vertex, snapshot.config.views), SINK] if job_id == snapshot.job_id else []
    return next((name for name in names if vertex_id(name) == wanted), None)


def _split_lists(texts: list[str]) -> list[str]:
    return [part for text in texts for part in text.split(",") if part]


def _parse_modes(texts: list[str]) -> list[str]:
    modes = [mode.lower() for mode in _split_lists(texts)]
    if set(modes) - set(AGGREGATIONS):
        raise Refusal(400, f"Not a valid aggregation; valid values are {', '.join(AGGREGATIONS)}.")
    return modes


def _includes_first(texts: list[str]) -> bool:
    """Return whether a list of indexes such as 0-3,5 is empty or contains 0, the only subtask."""
    parts = _split_lists(texts)
    if not all(re.fullmatch(_INDEXES, part) for part in parts):
        raise Refusal(400, "Bad request, could not parse parameters: subtasks is not a list of numbers.")
    return not parts or any(int(part.split("-")[0]) == 0 for part in parts)


def jobmanager_values(snapshot: Snapshot) -> Values:
    """Return the metrics of the driver as a job manager."""
    return _values(snapshot, Scope.JOBMANAGER, lambda metric, _: metric.name)


def job_values(snapshot: Snapshot) -> Values:
    """Return the metrics of the job."""
    return _values(snapshot, Scope.JOB, lambda metric, _: metric.name)


def subtask_values(snapshot: Snapshot, vertex: str) -> Values:
    """Return the metrics of a vertex's only subtask and of its operator, which has the name of the vertex."""

    def operator_id(metric: Metric, sample: Sample) -> str:
        return f"{vertex.translate(_REPLACED)}.{_name_with_labels(metric, sample)}"

    task = _values(snapshot, Scope.TASK, lambda metric, _: metric.name, vertex)
    return task | _values(snapshot, Scope.OPERATOR, operator_id, vertex)


def vertex_values(snapshot: Snapshot, vertex: str) -> Values:
    """Return the metrics of all subtasks of a vertex."""
    return {f"0.{name}": value for name, value in subtask_values(snapshot, vertex).items()}


def select_metrics(values: Values, wanted: Sequence[str]) -> list[dict[str, str]]:
    """Return all ids, or the selected metrics with their values; unknown ids are omitted."""
    if not wanted:
        return [{"id": name} for name in values]
    return [{"id": name, "value": values[name]} for name in dict.fromkeys(wanted) if name in values]


def aggregate_metrics(
    several: Sequence[Values], wanted: Sequence[str], modes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return all ids, or the selected metrics aggregated over several jobs or subtasks."""
    if not wanted:
        return [{"id": name} for name in dict.fromkeys(name for values in several for name in values)]
    found: list[dict[str, Any]] = []
    for name in wanted:
        texts = [values[name] for values in several if name in values]
        if not texts:
            return []  # as in Flink, if one of them is unknown
        numbers = _numbers(texts)
        if numbers is not None:
            found.append({"id": name} | {mode: _AGGREGATORS[mode](numbers) for mode in modes or AGGREGATIONS})
    return found


def _values(
    snapshot: Snapshot, scope: Scope, name: Callable[[Metric, Sample], str], vertex: str = ""
) -> dict[str, str]:
    return {
        name(metric, sample): _text(metric, sample)
        for metric in CATALOG
        if metric.scope is scope
        for sample in metric.read(snapshot)
        if sample.vertex == vertex
    }


def _name_with_labels(metric: Metric, sample: Sample) -> str:
    """Return the name with the value of each label after the group that it belongs to."""
    parts = metric.name.split(".")
    return ".".join(
        f"{part}.{sample.labels[part].translate(_REPLACED)}" if part in sample.labels else part
        for part in parts
    )


def _text(metric: Metric, sample: Sample) -> str:
    if isinstance(sample.value, str):
        return sample.value
    return str(float(sample.value)) if metric.kind is Kind.METER else str(round(sample.value))


def _numbers(texts: Iterable[str]) -> list[float] | None:
    """Return the values as numbers, or None if one is not a number: such a metric cannot be aggregated."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return None


def _skew(values: Sequence[float]) -> float:
    """Return the mean deviation from the mean, in percent of the mean, at most 100."""
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    deviation = sum(abs(mean - value) for value in values) / len(values)
    return min(deviation / mean * 100, 100.0)
