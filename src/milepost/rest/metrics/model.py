"""The words of a metric: what it is called, whose it is, and how it is read. Values only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from milepost.rest.metrics.snapshot import Moment


class Scope(Enum):
    """Whose number it is: Flink's scopes, and ours; the value begins the name that Prometheus sees."""

    JOBMANAGER = "flink_jobmanager_"
    JOB = "flink_jobmanager_job_"
    TASK = "flink_taskmanager_job_task_"
    OPERATOR = "flink_taskmanager_job_task_operator_"
    MILEPOST = "milepost_"


class Kind(Enum):
    """How a number moves."""

    GAUGE = "gauge"
    COUNTER = "counter"
    METER = "meter"
    """Per second, over the last minute."""
    TEXT = "text"
    """Not a number: Flink's REST has it, Prometheus cannot."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric at one moment."""

    value: float | str
    labels: Mapping[str, str] = field(default_factory=dict)
    vertex: str = ""
    """The vertex it belongs to, in the scopes of tasks and operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric: defined here once for all that show it."""

    scope: Scope
    name: str
    """As in Flink's REST interface, with dots between groups; of ours, as in Prometheus without the prefix."""
    kind: Kind
    help: str
    read: Callable[[Moment], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    """The labels of its own, beside those of its scope."""


def one(value: float | str | None) -> Iterable[Sample]:
    """Return the one sample of a metric without labels; none where the value is not known."""
    return () if value is None else (Sample(value),)
