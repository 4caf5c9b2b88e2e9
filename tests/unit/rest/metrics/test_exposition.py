"""The catalog as Prometheus reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB
from tests.unit.rest.metrics.snapshots import PROGRESS, checkpoints, snapshot

from milepost.config import parse_config
from milepost.job.monitoring.counters import JobCounters
from milepost.rest.metrics.exposition import exposition
from milepost.rest.metrics.snapshot import Snapshot

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def scraped(at: Snapshot) -> dict[str, list[Sample]]:
    text, content_type = exposition(at, "text/plain;version=0.0.4")
    assert content_type.startswith("text/plain; version=0.0.4")
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("flink_jobmanager_numRunningJobs", 1),
        ("flink_jobmanager_job_lastCheckpointDuration", 2000),
        ("flink_jobmanager_job_lastCheckpointSize", 1024),
        ("flink_jobmanager_job_lastCompletedCheckpointId", 7),
        ("flink_jobmanager_job_numberOfCompletedCheckpoints", 8),
        ("flink_jobmanager_job_numberOfFailedCheckpoints", 3),
        ("flink_jobmanager_job_totalNumberOfCheckpoints", 11),
        ("flink_jobmanager_job_numRestarts", 1),
        ("flink_jobmanager_job_runningState", 1),
        ("flink_jobmanager_job_restartingState", 0),
        ("flink_jobmanager_job_runningTime", 8000),
        ("flink_jobmanager_job_runningTimeTotal", 18000),
        ("flink_jobmanager_job_restartingTimeTotal", 2000),
        ("flink_jobmanager_job_uptime", 8000),
        ("flink_taskmanager_job_task_operator_KafkaSourceReader_commitsSucceeded", 5),
        ("flink_taskmanager_job_task_operator_KafkaSourceReader_commitsFailed", 1),
        ("flink_taskmanager_job_task_operator_pendingRecords", 25),
        ("flink_taskmanager_job_task_operator_numRecordsInErrors", 3),
        ("flink_taskmanager_job_task_operator_numRecordsSend", 66),
        ("milepost_lease_epoch", 4),
        ("milepost_source_lag", 25),
        ("milepost_retention_left_seconds", 9),
        ("milepost_unrestorable_partitions", 1),
        ("milepost_unchanged_records_total", 4),
        ("milepost_last_checkpoint_flush_max_seconds", 0.75),
        ("milepost_last_checkpoint_flush_mean_seconds", 0.5),
        ("milepost_last_checkpoint_rows", 70),
        ("milepost_last_checkpoint_writers", 2),
        ("milepost_sink_puts_total", 60),
        ("milepost_checkpoint_interval_seconds", 10),
    ],
)
def test_a_metric_with_one_value(name: str, value: float):
    (sample,) = scraped(snapshot())[name]
    assert sample.value == value


def test_labels_of_flinks_metrics_are_filtered_as_its_reporter_does():
    found = scraped(snapshot())
    (job,) = found["flink_jobmanager_job_numRestarts"]
    assert {"job_id": JOB, "job_name": "my_orders_job"}.items() <= job.labels.items()
    assert set(job.labels) == {"host", "job_id", "job_name"}
    first, second = found[
        "flink_taskmanager_job_task_operator_KafkaSourceReader_topic_partition_currentOffset"
    ]
    assert (first.value, second.value) == (99, -1)
    assert (
        first.labels | {"topic": "my_orders", "partition": "0", "task_name": "Source:_source"} == first.labels
    )
    assert set(first.labels) == {
        "host",
        "tm_id",
        "job_id",
        "job_name",
        "task_id",
        "task_name",
        "task_attempt_id",
        "task_attempt_num",
        "subtask_index",
        "operator_id",
        "operator_name",
        "topic",
        "partition",
    }
    assert [
        s.value
        for s in found[
            "flink_taskmanager_job_task_operator_KafkaSourceReader_topic_partition_committedOffset"
        ]
    ] == [90, 0]


def test_labels_of_ours_are_exact():
    found = scraped(snapshot())
    assert {s.labels["partition"]: s.value for s in found["milepost_group_drift"]} == {"0": 0, "1": 2}
    assert all(s.labels["topic"] == "my-orders" for s in found["milepost_source_position"])
    failures = {s.labels["reason"]: s.value for s in found["milepost_checkpoint_failures_total"]}
    assert failures["CHECKPOINT_SUBSUMED"] == 0, "an increase begins at zero"
    assert "TOO_MANY_CHECKPOINT_REQUESTS" not in failures, "it was never begun"
    assert {reason: count for reason, count in failures.items() if count} == {
        "CHECKPOINT_DECLINED": 2,
        "CHECKPOINT_EXPIRED": 1,
    }
    assert {
        s.labels["participant"]: s.value for s in found["milepost_last_checkpoint_participant_seconds"]
    } == {
        "state/0": 0.02,
        "counter": 0.005,
    }


def test_records_of_sources_and_sink_are_told_apart():
    counts = scraped(snapshot())["flink_taskmanager_job_task_numRecordsIn"]
    assert {s.labels["task_name"]: s.value for s in counts} == {"Source:_source": 60, "Sink:_Writer": 70}


def test_a_job_that_has_done_nothing_yet():
    found = scraped(
        snapshot(
            checkpoints=checkpoints(
                latest_completed=None, restored=None, history=(), completed=0, failed=0, failures={}
            ),
            progress=None,
            counters=JobCounters(),
            commits={},
            ends=None,
            offsets=None,
        )
    )
    assert [s.value for s in found["flink_jobmanager_job_lastCheckpointDuration"]] == [-1]
    assert "milepost_source_lag" not in found
    assert "milepost_lease_epoch" not in found
    assert "flink_taskmanager_job_task_operator_pendingRecords" not in found


def test_openmetrics_by_content_negotiation():
    text, content_type = exposition(snapshot(), OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    families = list(openmetrics.text_string_to_metric_families(text.decode()))
    kinds = {family.name: family.type for family in families}
    assert kinds["milepost_rejected_records"] == "counter"
    assert kinds["flink_jobmanager_job_numRestarts"] == "gauge"
    assert text.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (OPENMETRICS, True),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3",
            True,
        ),
        ("text/plain;q=0.2, Application/OpenMetrics-Text", True),
        ("application/openmetrics-text;version=1.0.0;q=0", False),
        ("application/openmetrics-text;version=99.0.0", False),
        ("application/openmetrics-text;version=abc", False),
        ("application/openmetrics-text;q=nan", False),
        ("text/plain;version=x", False),
        ("*/*", False),
        (";;=,,=", False),
        ("", False),
    ],
)
def test_who_gets_openmetrics(accept: str, expected: bool):
    text, content_type = exposition(snapshot(), accept)
    assert text.endswith(b"# EOF\n") == content_type.startswith("application/openmetrics-text") == expected


def test_two_topics_that_the_filter_makes_one_do_not_break_the_page():
    topics = {"source/kafka/topics": ["a-b", "a_b"], "sink/hbase/row-key": ["_kafka.topic", "id"]}
    progress = replace(PROGRESS, position={"a-b": {0: 5}, "a_b": {0: 9}})
    found = scraped(snapshot(config=parse_config(changed(topics)), progress=progress))
    name = "flink_taskmanager_job_task_operator_KafkaSourceReader_topic_partition_currentOffset"
    assert [sample.value for sample in found[name]] == [8]
    assert {sample.labels["topic"] for sample in found["milepost_source_position"]} == {"a-b", "a_b"}
