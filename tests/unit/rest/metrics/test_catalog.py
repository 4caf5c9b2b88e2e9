"""The one list of all metrics."""

from __future__ import annotations

from tests.unit.rest.metrics.snapshots import snapshot

from milepost.rest.metrics.catalog import (
    CATALOG,
    prometheus_metrics,
    prometheus_name,
    sanitize,
)
from milepost.rest.metrics.model import Kind, Scope


def test_no_name_comes_twice():
    names = [prometheus_name(metric) for metric in CATALOG]
    assert len(names) == len(set(names))


def test_names_as_flinks_reporter_makes_them():
    names = {prometheus_name(metric) for metric in CATALOG}
    assert "flink_jobmanager_job_lastCheckpointDuration" in names
    assert "flink_taskmanager_job_task_operator_KafkaSourceReader_topic_partition_committedOffset" in names


def test_what_flinks_reporter_replaces():
    assert sanitize("Source: my-orders.v1") == "Source:_my_orders_v1"
    assert sanitize("größe") == "gr__e"


def test_prometheus_has_numbers_only():
    for metric in prometheus_metrics():
        assert metric.kind is not Kind.TEXT
        assert all(isinstance(sample.value, int | float) for sample in metric.read(snapshot()))


def test_every_metric_says_what_it_is():
    for metric in CATALOG:
        assert metric.help.endswith("."), metric.name


def test_samples_of_tasks_name_their_vertex():
    for metric in CATALOG:
        for sample in metric.read(snapshot()):
            assert bool(sample.vertex) == (metric.scope in (Scope.TASK, Scope.OPERATOR)), metric.name
