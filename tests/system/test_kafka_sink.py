"""Rows into a topic of Kafka: each of them once for readers of what is committed, whenever the driver is killed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import PATIENCE_S, Lab, Sent, numbered, wait_until

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import SINK, Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.errors import FatalJobError, PreflightError
from milepost.verify import verify_pipeline

RECORDS = 600
PARTITIONS = 2
KILLS = ("5-ack@3", "6-seal-after@2", "7-commit-after@2")


class Read(NamedTuple):
    key: bytes | None
    value: bytes | None


def read(lab: Lab, topic: str, isolation: str = "read_committed", partitions: int = 1) -> list[Read]:
    """Return every record that such a reader sees now."""
    consumer = Consumer(
        lab.kafka
        | {"group.id": lab.name("reader"), "isolation.level": isolation, "enable.partition.eof": True}
    )
    found: list[Read] = []
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        ended: set[int | None] = set()
        deadline = time.monotonic() + PATIENCE_S
        while len(ended) < partitions:
            assert time.monotonic() < deadline, (
                f"only partitions {ended} of {topic} could be read to their end"
            )
            message = consumer.poll(1.0)
            if message is None:
                continue
            if (error := message.error()) is None:
                found.append(Read(message.key(), message.value()))
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        return found
    finally:
        consumer.close()


def document(lab: Lab, records: str, topic: str, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job from one topic into the other."""
    job = lab.document(
        records,
        "unused",
        source={"format": "json", "schema": "id STRING, n INT", **sections.get("source", {})},
        checkpointing=sections.get("checkpointing"),
    )
    kafka = {"bootstrap-servers": lab.services.bootstrap_servers, "topic": topic, "key": "id"}
    return job | {"sink": {"kafka": kafka | dict(sections.get("sink", {}))}}


def counts(records: list[Read]) -> Counter[int]:
    return Counter(json.loads(record.value or b"{}")["n"] for record in records)


@pytest.mark.timeout(600)
def test_killed_between_acknowledgement_and_commit_every_record_is_read_once(lab: Lab) -> None:
    folder, topic = lab.folder("kills"), lab.topic(partitions=PARTITIONS)
    source = lab.topic(*numbered(RECORDS, partitions=PARTITIONS), partitions=PARTITIONS)
    job = document(
        lab,
        source,
        topic,
        source={"max-offsets-per-trigger": 60},
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "100ms"},
    )
    file = write_pipeline(folder, job | {"spark": {"master": f"local[{PARTITIONS}]"}})
    for failpoint in KILLS:
        with Driver(file, f"{failpoint}=kill") as driver:
            assert driver.end() == -9, driver.output
        visible = len(read(lab, topic, partitions=PARTITIONS))
        # What is complete for Spark and not yet committed is what the next start must commit.
        assert (visible < read_position(Layout(folder / "checkpoint")).records) == failpoint.startswith("7")
    with Driver(file) as driver:
        assert driver.end() == 0, driver.output
    once = counts(read(lab, topic, partitions=PARTITIONS))
    assert once == Counter(range(RECORDS))
    everything = counts(read(lab, topic, "read_uncommitted", partitions=PARTITIONS))
    assert sum(everything.values()) > RECORDS, "no batch was written twice, so nothing was proved"


def test_rows_become_records_in_the_way_that_is_asked_for(lab: Lab) -> None:
    records = [Sent(b'{"id": "a", "n": 1}', b"a"), Sent(b'{"id": "b", "n": 2}', b"b"), Sent(None, b"a")]
    source, topic, texts = lab.topic(*records), lab.topic(), lab.topic()
    config = Config(**document(lab, source, topic))
    assert lab.finish(config).totals["rows"] == 3
    assert read(lab, topic) == [
        Read(b"a", b'{"id":"a","n":1}'),
        Read(b"b", b'{"id":"b","n":2}'),
        Read(b"a", None),
    ]
    job = document(
        lab,
        source,
        texts,
        sink={"format": "string", "value": "n"},
        checkpointing={"mode": "at-least-once"},
    )
    lab.finish(Config(**job))
    assert read(lab, texts) == [Read(b"a", b"1"), Read(b"b", b"2"), Read(b"a", None)]
    with pytest.raises(PreflightError, match="its sink is kafka"):
        verify_pipeline(config, lab.spark)


def test_what_the_broker_would_refuse_is_refused_before_the_start(lab: Lab) -> None:
    source = lab.topic(*numbered(1))
    with pytest.raises(PreflightError, match=r"'nowhere' of sink\.kafka does not exist"):
        lab.start(Config(**document(lab, source, "nowhere")))
    with pytest.raises(PreflightError, match="is 16m, but the brokers allow at most 900 s"):
        lab.start(Config(**document(lab, source, lab.topic(), sink={"transaction-timeout": "16m"})))
    with pytest.raises(PreflightError, match=r"sink\.kafka\.key names the column 'nope'"):
        lab.start(Config(**document(lab, source, lab.topic(), sink={"key": "nope"})))


def test_a_commit_may_be_repeated_and_a_lost_one_is_told(lab: Lab) -> None:
    source, topic = lab.topic(*numbered(5)), lab.topic()
    config = Config(**document(lab, source, topic))
    lab.finish(config)
    root = Path(config.checkpointing.dir)
    newest = CheckpointFiles(LocalStore(root)).newest()
    assert newest is not None
    # As after a death between the broker's commit and our note of it.
    (root / SINK).unlink()
    lab.finish(config)
    assert counts(read(lab, topic)) == Counter(range(5))
    # As after an absence that was longer than the transaction's timeout: the broker has moved on.
    (root / SINK).unlink()
    state: Any = newest.states["sink.kafka"]
    for transaction in state["transactions"]:
        Producer(lab.kafka | {"transactional.id": transaction["id"]}).init_transactions(PATIENCE_S)
    with pytest.raises(FatalJobError, match=f"Records of checkpoint {newest.checkpoint_id} are lost"):
        lab.start(config)


def test_in_real_time_readers_see_the_records_of_each_checkpoint_once(lab: Lab) -> None:
    source, topic = lab.topic(*numbered(20)), lab.topic()
    job = document(
        lab,
        source,
        topic,
        source={"stop": "never"},
        checkpointing={"execution": "real-time", "interval": "500ms"},
    )
    with lab.running(Config(**job)):
        wait_until(lambda: len(read(lab, topic)) == 20, "the first records are committed")
        lab.produce(source, *numbered(20, first=20))
        wait_until(lambda: len(read(lab, topic)) == 40, "so are the next ones")
    assert counts(read(lab, topic, "read_uncommitted")) == Counter(range(40))
