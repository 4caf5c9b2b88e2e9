"""Flink's answers about metrics: ids where none is asked for, else values as texts, or what several come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from milepost.rest.metrics.catalog import CATALOG
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
)
from milepost.rest.metrics.snapshot import Moment

AGGREGATIONS = ("min", "max", "avg", "sum", "skew")
Values = Mapping[str, str]
"""Metrics by their ids, as Flink's metric store has them."""

_REPLACED = str.maketrans(" .:,", "____")
_REDUCED: Mapping[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "avg": lambda values: sum(values) / len(values),
    "sum": sum,
    "skew": lambda values: _skew(values),
}


def of_jobmanager(moment: Moment) -> Values:
    """Return the metrics of the driver as a job manager."""
    return _values(moment, Scope.JOBMANAGER, lambda metric, _: metric.name)


def of_job(moment: Moment) -> Values:
    """Return the metrics of the job."""
    return _values(moment, Scope.JOB, lambda metric, _: metric.name)


def of_subtask(moment: Moment, vertex: str) -> Values:
    """Return the metrics of a vertex's one subtask, and of its operator, which has the vertex's name."""

    def operator_id(metric: Metric, sample: Sample) -> str:
        return f"{vertex.translate(_REPLACED)}.{_with_labels(metric, sample)}"

    task = _values(moment, Scope.TASK, lambda metric, _: metric.name, vertex)
    return task | _values(moment, Scope.OPERATOR, operator_id, vertex)


def of_vertex(moment: Moment, vertex: str) -> Values:
    """Return the metrics of all subtasks of a vertex."""
    return {f"0.{name}": value for name, value in of_subtask(moment, vertex).items()}


def collected(values: Values, wanted: Sequence[str]) -> list[dict[str, str]]:
    """Return the ids, or the wanted metrics with their values; what is not there is left out."""
    if not wanted:
        return [{"id": name} for name in values]
    return [{"id": name, "value": values[name]} for name in dict.fromkeys(wanted) if name in values]


def aggregated(
    several: Sequence[Values], wanted: Sequence[str], modes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the ids, or what the wanted metrics come to over several jobs or subtasks."""
    if not wanted:
        return [{"id": name} for name in dict.fromkeys(name for values in several for name in values)]
    found: list[dict[str, Any]] = []
    for name in wanted:
        texts = [values[name] for values in several if name in values]
        if not texts:
            return []  # as Flink answers where one of them is not there
        numbers = _numbers(texts)
        if numbers is not None:
            found.append({"id": name} | {mode: _REDUCED[mode](numbers) for mode in modes or AGGREGATIONS})
    return found


def _values(
    moment: Moment, scope: Scope, name: Callable[[Metric, Sample], str], vertex: str = ""
) -> dict[str, str]:
    return {
        name(metric, sample): _text(metric, sample)
        for metric in CATALOG
        if metric.scope is scope
        for sample in metric.read(moment)
        if sample.vertex == vertex
    }


def _with_labels(metric: Metric, sample: Sample) -> str:
    """Return the name with the value of each label behind the group that it belongs to."""
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
    """Return the numbers, None where one is none: such a metric cannot be aggregated."""
    try:
        return [float(text) for text in texts]
    except ValueError:
        return None


def _skew(values: Sequence[float]) -> float:
    """Return the mean deviation from the mean, in percent of the mean and at most 100."""
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    deviation = sum(abs(mean - value) for value in values) / len(values)
    return min(deviation / mean * 100, 100.0)
