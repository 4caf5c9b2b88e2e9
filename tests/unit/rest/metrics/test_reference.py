"""The page of all metrics."""

from __future__ import annotations

from milepost.rest.metrics.catalog import CATALOG, prometheus_metrics, prometheus_name
from milepost.rest.metrics.reference import render


def test_every_metric_has_its_line():
    page = render()
    rows = [line for line in page.splitlines() if line.startswith(("| `", "| —"))]
    assert len(rows) == len(CATALOG)
    for metric in prometheus_metrics():
        assert f"| `{prometheus_name(metric)}` |" in page


def test_names_in_rest_show_where_labels_stand():
    assert "`KafkaSourceReader.topic.:topic.partition.:partition.currentOffset`" in render()
