"""The definition of a metric: name, scope, kind and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from milepost.rest.metrics.snapshot import Snapshot


class Scope(Enum):
    """The scope of a metric: Flink's scopes, and ours; the value is the prefix of its name in Prometheus."""

    JOBMANAGER = "flink_jobmanager_"
    JOB = "flink_jobmanager_job_"
    TASK = "flink_taskmanager_job_task_"
    OPERATOR = "flink_taskmanager_job_task_operator_"
    MILEPOST = "milepost_"


class Kind(Enum):
    """The kind of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    METER = "meter"
    """Per second, over the last minute."""
    TEXT = "text"
    """Not a number: available in Flink's REST interface, but not in Prometheus."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric."""

    value: float | str
    labels: Mapping[str, str] = field(default_factory=dict)
    vertex: str = ""
    """The vertex of the sample, in the scopes of tasks and operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric, defined once for all outputs."""

    scope: Scope
    name: str
    """Flink's name with dots between groups; for our metrics the name in Prometheus without the prefix."""
    kind: Kind
    help: str
    read: Callable[[Snapshot], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    """Labels in addition to those of the scope."""


def single_sample(value: float | str | None) -> Iterable[Sample]:
    """Return the only sample of a metric without labels, or none if the value is unknown."""
    return () if value is None else (Sample(value),)
