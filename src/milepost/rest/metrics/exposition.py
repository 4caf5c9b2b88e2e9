"""The text of `GET /metrics`; Flink's metrics appear as Flink's own reporter writes them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from milepost.rest.flink.job_vertex import vertex_id
from milepost.rest.metrics.catalog import prometheus_metrics, prometheus_name, sanitize
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
)
from milepost.rest.metrics.snapshot import Snapshot

TASK_MANAGER = "driver"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")
Labels = Mapping[str, str]


def exposition(snapshot: Snapshot, accept: str) -> tuple[bytes, str]:
    """Return the text in the format that the client accepts, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_SnapshotCollector(snapshot))
    if is_openmetrics(accept):
        return openmetrics.generate_latest(registry), OPENMETRICS  # type: ignore[no-untyped-call]
    return generate_latest(registry), TEXT


def is_openmetrics(accept: str) -> bool:
    """Return whether a client accepts OpenMetrics 1; otherwise it gets the Prometheus text format."""
    for offered in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in offered.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if kind == "application/openmetrics-text" and given.get("version", "1.0.0") == "1.0.0":
            return _is_wanted(given.get("q", "1"))
    return False


def _is_wanted(quality: str) -> bool:
    """Return whether a weight is above zero."""
    return bool(_WEIGHT.fullmatch(quality)) and float(quality) > 0


class _SnapshotCollector(Collector):
    """Exposes a snapshot of a job to the Prometheus library."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._labels: dict[tuple[Scope, str], Labels] = {}

    def collect(self) -> Iterator[Family]:
        for metric in prometheus_metrics():
            samples = list(metric.read(self._snapshot))
            if samples:
                yield self._family(metric, samples)

    def _family(self, metric: Metric, samples: Sequence[Sample]) -> Family:
        rows = [self._labels_of(metric.scope, sample) for sample in samples]
        name, names = prometheus_name(metric), list(rows[0])
        # Flink's reporter exposes every metric as a gauge, and dashboards for Flink expect its names.
        is_counter = metric.kind is Kind.COUNTER and metric.scope is Scope.MILEPOST
        family: CounterMetricFamily | GaugeMetricFamily = (
            CounterMetricFamily(name.removesuffix("_total"), metric.help, labels=names)
            if is_counter
            else GaugeMetricFamily(name, metric.help, labels=names)
        )
        # Two topics may have the same sanitized name: the last one wins, as with Flink's reporter.
        kept = {tuple(row.values()): float(sample.value) for row, sample in zip(rows, samples, strict=True)}
        for values, value in kept.items():
            family.add_metric(list(values), value)
        return family

    def _labels_of(self, scope: Scope, sample: Sample) -> Labels:
        place = scope, sample.vertex
        common = self._labels.get(place)
        if common is None:
            common = self._labels[place] = _common_labels(scope, self._snapshot, sample.vertex)
        own = sample.labels if scope is Scope.MILEPOST else _sanitize_values(sample.labels)
        return {**common, **own}


def _common_labels(scope: Scope, snapshot: Snapshot, vertex: str) -> Labels:
    """Return the labels of all samples of a scope: ours unchanged, Flink's as its reporter sanitizes them."""
    host = {"host": socket.gethostname()}
    job = {"job_id": snapshot.job_id, "job_name": snapshot.config.name}
    if scope is Scope.MILEPOST:
        return job
    if scope is Scope.JOBMANAGER:
        return _sanitize_values(host)
    if scope is Scope.JOB:
        return _sanitize_values({**host, **job})
    task_id = vertex_id(vertex)
    task = {
        **host,
        "tm_id": TASK_MANAGER,
        **job,
        "task_id": task_id,
        "task_name": vertex,
        "task_attempt_id": vertex_id(f"{snapshot.job_id} {vertex} {snapshot.restarts}"),
        "task_attempt_num": str(snapshot.restarts),
        "subtask_index": "0",
    }
    operator = {"operator_id": task_id, "operator_name": vertex} if scope is Scope.OPERATOR else {}
    return _sanitize_values({**task, **operator})


def _sanitize_values(labels: Labels) -> Labels:
    return {name: sanitize(value) for name, value in labels.items()}
