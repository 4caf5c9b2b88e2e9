"""The list of all metrics, and their names in Prometheus."""

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
    single_sample,
)
from milepost.rest.metrics.snapshot import Snapshot

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9:_]")


def _writers(snapshot: Snapshot) -> float:
    newest = snapshot.checkpoints.latest_completed
    return len(newest.acknowledgements) if newest else 0


def _cluster(name: str, text: str, value: float | None = None) -> Metric:
    def read(snapshot: Snapshot) -> Iterable[Sample]:
        return single_sample(_writers(snapshot) if value is None else value)

    return Metric(scope=Scope.JOBMANAGER, name=name, kind=Kind.GAUGE, help=text, read=read)


def _running(snapshot: Snapshot) -> Iterable[Sample]:
    return single_sample(int(snapshot.status in (JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING)))


_JOBMANAGER: tuple[Metric, ...] = (
    Metric(
        scope=Scope.JOBMANAGER,
        name="numRunningJobs",
        kind=Kind.GAUGE,
        help="1 while the job of this driver runs or waits for a restart.",
        read=_running,
    ),
    _cluster("numRegisteredTaskManagers", "Always 1: the driver represents its executors.", 1),
    _cluster("taskSlotsTotal", "Participants that acknowledged the newest completed checkpoint."),
    _cluster("taskSlotsAvailable", "Always 0.", 0),
)

CATALOG: tuple[Metric, ...] = (*_JOBMANAGER, *job.METRICS, *operator.METRICS, *extensions.METRICS)


@cache
def prometheus_name(metric: Metric) -> str:
    """Return the name in Prometheus, as Flink's reporter would write it."""
    return metric.scope.value + sanitize(metric.name)


def sanitize(text: str) -> str:
    """Replace the characters that Flink's reporter replaces in names and in the values of labels."""
    return _NOT_IN_A_NAME.sub("_", text)


def prometheus_metrics() -> list[Metric]:
    """Return the metrics that Prometheus can represent."""
    return [metric for metric in CATALOG if metric.kind is not Kind.TEXT]
