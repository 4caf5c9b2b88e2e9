"""`verify` proves the table up to the newest completed checkpoint: on jobs that stand, that run, on busy topics."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from tests.system.drivers import END_S, Driver, write_pipeline
from tests.system.lab import Lab, Sent, visible, wait_until

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.verify import Kind, Report, verify_pipeline
from milepost.verify.log import LogMovedError, read, take_spans

KEYS = 50
EXECUTIONS = [{"interval": "500ms"}, {"interval": "2s", "execution": "real-time"}]


def update(number: int, partitions: int = 1) -> Sent:
    """Return the record of this number: most put one of few keys, every fifth deletes it."""
    key = number * 7 % KEYS
    value = None if number % 5 == 4 else json.dumps({"id": f"k{key}", "n": number}).encode()
    return Sent(value, f"k{key}".encode(), key % partitions)


def updates(count: int, first: int = 0, partitions: int = 1) -> list[Sent]:
    return [update(number, partitions) for number in range(first, first + count)]


def document(lab: Lab, topic: str, **sections: Any) -> dict[str, Any]:
    source = {"format": "json", "schema": "id STRING, n INT"} | sections.pop("source", {})
    sink = {"columns": {"d": ["n"]}, "encoding": "string"}
    return lab.document(topic, lab.table("d"), source=source, sink=sink, **sections)


def completed(config: Config) -> int:
    return read_position(Layout(Path(config.checkpointing.dir))).records


def verified(lab: Lab, config: Config) -> Report:
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    return report


@contextmanager
def busy(lab: Lab, topic: str, first: int, partitions: int) -> Iterator[None]:
    """Update and delete the keys for as long as the block lasts."""
    over = threading.Event()

    def produce() -> None:
        producer, number = Producer(lab.kafka), first
        while not over.wait(0.005):
            for record in updates(20, number, partitions):
                producer.produce(topic, value=record.value, key=record.key, partition=record.partition)
            number += 20
            producer.poll(0)
        producer.flush(30)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_what_a_stopped_job_has_not_read_accuses_nothing(lab: Lab) -> None:
    topic = lab.topic(*updates(200, partitions=2), partitions=2)
    config = Config(**document(lab, topic))
    lab.finish(config)
    lab.produce(topic, *updates(350, 200, partitions=2))
    report = verified(lab, config)
    assert report.line == "VERIFIED records=200 missing=0 extra=0 stale=0 duplicates=0"
    assert any("not yet read: 350" in line for line in report.lines()), report.lines()
    assert report.document()["not-yet-read"] == 350
    assert report.document()["ahead"] == 0


def test_a_growth_that_the_job_has_not_seen_accuses_no_key(lab: Lab) -> None:
    topic = lab.topic(*updates(200))
    config = Config(**document(lab, topic))
    lab.finish(config)
    admin = AdminClient(lab.kafka)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(timeout=30)
    wait_until(lambda: len(admin.list_topics(topic).topics[topic].partitions) == 3, "the topic has grown")
    lab.produce(topic, *updates(350, 200, partitions=3))
    report = verified(lab, config)
    assert (report.records, report.not_yet_read) == (200, 350)


def test_rows_written_ahead_of_the_checkpoint_accuse_nothing(lab: Lab) -> None:
    topic = lab.topic(*updates(200))
    made = document(lab, topic)
    config = Config(**made)
    lab.finish(config)
    before = visible(lab.cells(config))
    lab.produce(topic, *updates(100, 200), Sent(b'{"id": "last", "n": 1}', b"last"))
    file = write_pipeline(lab.folder("ahead"), made)
    with Driver(file, failpoints="6-seal-before@1=stop"):
        wait_until(lambda: b"last" in visible(lab.cells(config)), "the records are in the table", END_S)
        assert visible(lab.cells(config)) != before
        report = verified(lab, config)
        assert (report.records, report.not_yet_read) == (200, 101)
        assert report.ahead > 1
        assert any("written ahead of checkpoint" in line for line in report.lines())
    assert verified(lab, config).ahead > 1, "the job was killed with the batch in the table"
    lab.finish(config)
    report = verified(lab, config)
    assert (report.records, report.not_yet_read, report.ahead) == (301, 0, 0)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("checkpointing", EXECUTIONS, ids=["micro-batch", "real-time"])
def test_a_running_job_on_a_busy_topic_is_verified_and_damage_is_found(
    lab: Lab, checkpointing: dict[str, Any]
) -> None:
    quiet = [Sent(json.dumps({"id": f"q{n}", "n": n}).encode(), b"q%d" % n, n % 2) for n in range(20)]
    topic = lab.topic(*quiet, *updates(200, partitions=2), partitions=2)
    made = document(lab, topic, source={"stop": "never"}, checkpointing=checkpointing)
    config, name = Config(**made), made["sink"]["hbase"]["table"]
    with lab.running(config):
        wait_until(lambda: completed(config) == 220, "the records are in a checkpoint")
        with busy(lab, topic, 200, 2):
            wait_until(lambda: completed(config) > 400, "a checkpoint of the busy topic")
            for _ in range(3):
                assert verified(lab, config).records >= 400
            lab.hbase.put(name, b"alien", {(b"d", b"n"): b"1"})
            lab.hbase.put(name, b"q3", {(b"d", b"n"): b"changed"})
            lab.hbase.delete(name, b"q5")
            file = write_pipeline(lab.folder("damaged"), made)
            result = subprocess.run(
                [sys.executable, "-m", "milepost", "verify", str(file), "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
    assert result.returncode == 4, result.stdout + result.stderr
    differences = json.loads(result.stdout)["differences"]
    rows = {kind: {e.split()[2] for e in each["examples"]} for kind, each in differences.items()}
    assert rows == {
        Kind.EXTRA.name: {"'alien'"},
        Kind.MISSING.name: {"'q5'"},
        Kind.ALIEN_VERSION.name: {"'q3'", "'q5'"},
    }


def test_a_lost_cell_below_the_boundary_is_found_while_more_is_to_be_read(lab: Lab) -> None:
    topic = lab.topic(*updates(200))
    made = document(lab, topic)
    config = Config(**made)
    lab.finish(config)
    lab.produce(topic, *updates(350, 200))
    row = next(iter(visible(lab.cells(config))))
    lab.hbase.delete(made["sink"]["hbase"]["table"], row)
    report = verify_pipeline(config, lab.spark)
    assert report.counts == {Kind.MISSING: 1, Kind.ALIEN_VERSION: 1}, report.lines()
    assert report.not_yet_read == 350


def test_before_the_first_checkpoint_nothing_is_promised(lab: Lab) -> None:
    topic = lab.topic(*updates(200))
    made = document(lab, topic)
    config = Config(**made)
    lab.finish(config)
    # As after the first batch of a job, between its last write and its commit.
    shutil.rmtree(Layout(Path(config.checkpointing.dir)).commits)
    report = verified(lab, config)
    assert report.line == "VERIFIED records=0 missing=0 extra=0 stale=0 duplicates=0"
    assert (report.not_yet_read, report.ahead) == (200, len({cell[0] for cell in lab.cells(config)}))
    lab.hbase.put(made["sink"]["hbase"]["table"], b"alien", {(b"d", b"n"): b"1"})
    assert verify_pipeline(config, lab.spark).counts == {Kind.EXTRA: 1}


def test_a_log_that_loses_records_while_it_is_read_is_read_again(lab: Lab) -> None:
    topic = lab.topic(Sent(b'{"id": "old", "n": 1}', b"old"), *updates(199))
    config = Config(**document(lab, topic))
    lab.finish(config)
    lab.produce(topic, *updates(50, 200))
    spans = take_spans(lab.kafka, [topic])
    where = TopicPartition(topic, 0, 100)
    admin = AdminClient(lab.kafka)  # must outlive its answer
    admin.delete_records([where])[where].result(timeout=30)
    with pytest.raises(LogMovedError, match="were deleted while it was read"):
        list(read(lab.kafka, spans))
    report = verified(lab, config)
    assert (report.records, report.not_yet_read) == (100, 50)
    assert report.beyond > 0
