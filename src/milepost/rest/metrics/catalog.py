"""The one list of all metrics, and the names that Prometheus knows them by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from milepost.job.status import JobStatus
from milepost.rest.metrics import extensions, job, operator
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
    one,
)
from milepost.rest.metrics.snapshot import Moment

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9:_]")


def _writers(moment: Moment) -> float:
    newest = moment.checkpoints.latest_completed
    return len(newest.acknowledgements) if newest else 0


def _cluster(name: str, text: str, value: float | None = None) -> Metric:
    def read(moment: Moment) -> Iterable[Sample]:
        return one(_writers(moment) if value is None else value)

    return Metric(scope=Scope.JOBMANAGER, name=name, kind=Kind.GAUGE, help=text, read=read)


def _running(moment: Moment) -> Iterable[Sample]:
    return one(int(moment.status in (JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING)))


_JOBMANAGER: tuple[Metric, ...] = (
    Metric(
        scope=Scope.JOBMANAGER,
        name="numRunningJobs",
        kind=Kind.GAUGE,
        help="1 while the job of this driver runs or waits for its restart.",
        read=_running,
    ),
    _cluster("numRegisteredTaskManagers", "Always 1: the driver speaks for its executors.", 1),
    _cluster("taskSlotsTotal", "Who acknowledged the newest completed checkpoint."),
    _cluster("taskSlotsAvailable", "Always 0.", 0),
)

CATALOG: tuple[Metric, ...] = (*_JOBMANAGER, *job.METRICS, *operator.METRICS, *extensions.METRICS)


@cache
def exposed_name(metric: Metric) -> str:
    """Return the name in Prometheus, as Flink's reporter would make it."""
    return metric.scope.value + filtered(metric.name)


def filtered(text: str) -> str:
    """Return a text with what Flink's reporter replaces replaced: in names, and in the values of labels."""
    return _NOT_IN_A_NAME.sub("_", text)


def exposed() -> list[Metric]:
    """Return the metrics that Prometheus can have."""
    return [metric for metric in CATALOG if metric.kind is not Kind.TEXT]
