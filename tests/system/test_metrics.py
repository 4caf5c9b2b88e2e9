"""A running job in numbers, spans and lines: they say what the job, the group and the table say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.otlp import Collector, attributes, collecting
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, Sent, numbered, wait_until

TOKEN = "token-of-the-metrics-test"
HEADER = "header-of-the-metrics-test"
FLAKY = '''
"""A participant that declines once, when a file named `decline` lies beside this one."""
import pathlib


class Flaky:
    name = "flaky"

    def snapshot_state(self, context):
        wanted = pathlib.Path(__file__).with_name("decline")
        if wanted.exists():
            wanted.unlink()
            raise ValueError("declined on purpose\\nwith a second line")
        return {"checkpoint": context.checkpoint_id}
'''


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def pipeline(lab: Lab, collector: Collector, topic: str) -> Path:
    folder = lab.folder("metrics")
    (folder / "flaky.py").write_text(FLAKY)
    document = lab.document(
        topic,
        lab.table("d"),
        source={
            "format": "json",
            "schema": "id STRING, n INT",
            "stop": "never",
            "start": "earliest",
            "group-id": lab.name("group"),
            "bad-records": "skip",
        },
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "1s"},
        restart={"strategy": "fixed-delay", "attempts": 3, "delay": "100ms"},
    )
    document |= {
        "name": "in-numbers",
        "participants": ["flaky:Flaky"],
        "rest": {"bind": "127.0.0.1:0", "token": TOKEN},
        "spark": {"master": "local[2]"},
        "logging": {"format": "json"},
        "telemetry": {"otlp-endpoint": collector.address, "headers": {"x-key": HEADER}},
    }
    return write_pipeline(folder, document)


class Scrapes:
    """The job's metrics, asked for anew each time."""

    def __init__(self, driver: Driver) -> None:
        wait_until(lambda: "REST interface: " in driver.output, "the address is told", 90)
        said = next(line for line in driver.output.splitlines() if "REST interface: " in line)
        self.address = json.loads(said)["message"].removeprefix("REST interface: ")

    def ask(self, path: str, method: str = "GET") -> str:
        request = Request(self.address + path, headers={"Authorization": f"Bearer {TOKEN}"}, method=method)
        with urlopen(request, timeout=10) as response:
            text: str = response.read().decode()
            return text

    def samples(self, name: str) -> list[Sample]:
        families = text_string_to_metric_families(self.ask("/metrics"))
        return [sample for family in families for sample in family.samples if sample.name == name]

    def value(self, name: str) -> float:
        (sample,) = self.samples(name)
        return sample.value


@pytest.mark.timeout(240)
def test_numbers_spans_and_lines_of_a_job_that_restarts_once(lab: Lab, collector: Collector) -> None:
    topic = lab.topic(*numbered(20, partitions=2), Sent(b"no json"), partitions=2)
    file = pipeline(lab, collector, topic)
    with Driver(file) as driver:
        scrapes = Scrapes(driver)
        wait_until(lambda: scrapes.value("milepost_sink_rows_total") == 20, "all rows are counted", 60)
        the_numbers_are_the_jobs(scrapes, lab, topic, group_of(file))

        file.with_name("decline").touch()
        wait_until(
            lambda: scrapes.value("flink_jobmanager_job_numRestarts") == 1, "the job has restarted", 60
        )
        failures = scrapes.samples("milepost_checkpoint_failures_total")
        assert {s.labels["reason"]: s.value for s in failures if s.value} == {"CHECKPOINT_DECLINED": 1}
        before = scrapes.value("flink_jobmanager_job_numberOfCompletedCheckpoints")
        wait_until(
            lambda: scrapes.value("flink_jobmanager_job_numberOfCompletedCheckpoints") > before,
            "checkpoints go on",
            60,
        )
        job_id = scrapes.samples("milepost_lease_epoch")[0].labels["job_id"]
        scrapes.ask(f"/jobs/{job_id}?mode=cancel", "PATCH")
        assert driver.end() == 0, driver.output
        said = driver.output
    the_spans_have_arrived(collector, job_id)
    every_line_is_json(said, job_id)
    the_jvm_writes_the_same_form(file.with_name("checkpoint"), job_id)


def group_of(file: Path) -> str:
    found = next(line for line in file.read_text().splitlines() if "group-id:" in line)
    return found.split(":")[1].strip()


def the_numbers_are_the_jobs(scrapes: Scrapes, lab: Lab, topic: str, group: str) -> None:
    def known() -> dict[str, float]:
        return {s.labels["partition"]: s.value for s in scrapes.samples("milepost_group_offset")}

    wait_until(lambda: known() == {"0": 11, "1": 10}, "the group has been brought up", 60)
    consumer = Consumer(lab.kafka | {"group.id": group})
    try:
        asked = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=30)
    finally:
        consumer.close()
    assert {str(each.partition): each.offset for each in asked} == known()
    name = "flink_taskmanager_job_task_operator_KafkaSourceReader_topic_partition_currentOffset"
    wait_until(
        lambda: {s.labels["partition"]: s.value for s in scrapes.samples(name)} == {"0": 10, "1": 9},
        "the job has looked at its progress, which it does a few times a second",
        10,
    )
    (rejected,) = [s for s in scrapes.samples("milepost_rejected_records_total") if s.value]
    assert (rejected.labels["reason"], rejected.value) == ("MALFORMED", 1)
    assert scrapes.value("flink_taskmanager_job_task_operator_numRecordsInErrors") == 1
    assert scrapes.value("flink_jobmanager_job_runningState") == 1
    assert {s.value for s in scrapes.samples("milepost_group_drift")} == {0}
    wait_until(
        lambda: [s.value for s in scrapes.samples("milepost_source_lag")] == [0, 0],
        "the broker was asked",
        30,
    )
    job_id = rejected.labels["job_id"]
    statistics = json.loads(scrapes.ask(f"/jobs/{job_id}/checkpoints"))
    wanted = "numberOfCompletedCheckpoints"
    (over_rest,) = json.loads(scrapes.ask(f"/jobs/{job_id}/metrics?get={wanted}"))
    scraped = scrapes.value(f"flink_jobmanager_job_{wanted}")
    # One may complete between two questions.
    assert statistics["counts"]["completed"] <= int(over_rest["value"]) <= scraped


def the_spans_have_arrived(collector: Collector, job_id: str) -> None:
    assert {resource["job_id"] for resource in collector.resources} == {job_id}
    assert {headers["x-key"] for headers in collector.headers} == {HEADER}
    ends = [attributes(span) for span in collector.named("Checkpoint")]
    # One that was in flight when the job was cancelled has failed for another reason.
    assert [end.get("failureReason") for end in ends].count("CHECKPOINT_DECLINED") == 1
    assert [end["checkpointStatus"] for end in ends].count("COMPLETED") >= 2
    assert len(collector.named("JobInitialization")) == 2
    participants = {attributes(span)["participant"] for span in collector.named("Checkpoint_Subtask")}
    assert {"flaky", "writer/0"} <= participants


def every_line_is_json(said: str, job_id: str) -> None:
    lines = [json.loads(line) for line in said.splitlines()]
    assert {line["job_name"] for line in lines} == {"in-numbers"}
    of_checkpoints = [line for line in lines if line["message"].startswith("Completed checkpoint")]
    assert {line["job_id"] for line in of_checkpoints} <= {job_id, None}
    assert of_checkpoints[-1]["job_id"] == job_id
    assert of_checkpoints[-1]["attempt"] == 2
    assert all(line["message"].split()[2] == str(line["checkpoint_id"]) for line in of_checkpoints)
    assert any(line["level"] == "WARNING" and "CHECKPOINT_DECLINED" in line["message"] for line in lines)
    assert TOKEN not in said
    assert HEADER not in said


def the_jvm_writes_the_same_form(checkpoint: Path, job_id: str) -> None:
    (log,) = checkpoint.rglob("driver.log")
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {(line["job_id"], line["job_name"]) for line in lines} == {(job_id, "in-numbers")}
    assert {"timestamp", "level", "logger", "message"} <= lines[0].keys()
