"""Zombies (F2, F4, F5, F8, F9): executors that are paused, doubled, revived or killed with unsent mutations in hand."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from tests.system.cluster import Cluster, cluster
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import PATIENCE_S, Lab, visible, wait_until

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.config import Config
from milepost.job.prepare import prepare_job
from milepost.sink.table import FOR_EVER_MS, PURGE_DELETES_AFTER
from milepost.verify import verify_pipeline

# ---- what HBase does with a marker and a late put, without us ----

FAMILIES: dict[str, tuple[dict[str, Any], bool]] = {
    "as HBase makes it": ({}, True),
    # The marker goes where no put of the store is older, as after a put and a delete that were sent as one delete.
    "KEEP_DELETED_CELLS": ({"keep_deleted_cells": True}, True),
    "markers kept for ever": ({"purge_after": FOR_EVER_MS}, False),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_late_put_shows_after_a_major_compaction_unless_markers_are_kept(lab: Lab, kind: str) -> None:
    settings, shows = FAMILIES[kind]
    name = lab.name("markers")
    client = lab.hbase.jvm.org.apache.hadoop.hbase.client
    family = client.ColumnFamilyDescriptorBuilder.newBuilder(b"d")
    if "keep_deleted_cells" in settings:
        family.setKeepDeletedCells(lab.hbase.jvm.org.apache.hadoop.hbase.KeepDeletedCells.TRUE)
    if "purge_after" in settings:
        family.setConfiguration(PURGE_DELETES_AFTER, str(settings["purge_after"]))
    table_name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(name)
    builder = client.TableDescriptorBuilder.newBuilder(table_name).setColumnFamily(family.build())
    lab.hbase.connection.getAdmin().createTable(builder.build())
    table = lab.hbase.connection.getTable(table_name)
    table.delete(client.Delete(b"gone").addFamily(b"d", 100))
    table.put(client.Put(b"other").addColumn(b"d", b"q", 101, b"v"))
    lab.hbase.compact(name)
    table.put(client.Put(b"gone").addColumn(b"d", b"q", 90, b"late"))
    assert bool(lab.hbase.get(name, b"gone")) is shows


def test_a_table_that_milepost_makes_keeps_its_markers_and_another_is_told_of(lab: Lab) -> None:
    topic = lab.topic()
    warned = prepare_job(lab.spec(lab.numbers(topic))).plan.warnings
    assert sum("delete markers do not outlive" in warning for warning in warned) == 1
    config = lab.numbers(topic, table=lab.name("made"), sink={"create-table": {"regions": 1}})
    lab.finish(config)
    assert not any("delete markers" in warning for warning in prepare_job(lab.spec(config)).plan.warnings)


# ---- real executors ----

ROWS_PER_FLUSH = 4
WARM_UP = 22
"""Flushes of the first batch: the executor that runs it is the one that reaches the pauses, the other never does."""
PAUSES = range(WARM_UP + 2, WARM_UP + 5)
FAILPOINTS = ",".join([*(f"4-send@{number}=pause" for number in PAUSES), "5-ack@6=raise"])
NEWER = 10
CONF = {
    "spark.driver.host": "127.0.0.1",
    # Both executors are there before the first batch.
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.executor.memory": "640m",
    "spark.executorEnv.MILEPOST_FAILPOINTS": FAILPOINTS,
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    # No batch but a held one takes so long, once both executors have run one.
    "spark.speculation.task.duration.threshold": "5s",
    # The source prefers the executor that read last; a paused one is not waited for.
    "spark.locality.wait": "0s",
    # Blocks are fetched from a paused executor too, as long as the driver takes it for alive.
    "spark.shuffle.io.connectionTimeout": "2s",
    "spark.shuffle.io.maxRetries": "0",
}


@dataclass
class Story:
    """One job on two executors, its records, and what its table must show."""

    lab: Lab
    cluster: Cluster
    driver: Driver
    config: Config
    topic: str
    expected: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)
    sent: int = 0
    rounds: Iterator[int] = field(default_factory=count)

    @property
    def layout(self) -> Layout:
        return Layout(Path(self.config.checkpointing.dir))

    def send(self, *changes: tuple[str, str | None]) -> None:
        """Send records that are visible all at once, so that one batch takes them; no value is a delete."""
        producer = Producer(self.lab.kafka | {"enable.idempotence": True, "linger.ms": 1000})
        for key, value in changes:
            document = {"id": key, "v": value, "op": "d" if value is None else "u"}
            producer.produce(self.topic, json.dumps(document).encode(), b"k", partition=0)
            self.expected.pop(key.encode(), None)
            if value is not None:
                self.expected[key.encode()] = {b"v": value.encode()}
        assert producer.flush(PATIENCE_S) == 0
        self.sent += len(changes)

    def is_done(self) -> bool:
        assert self.driver.process.poll() is None, self.driver.output
        completed = newest_completed(LocalStore(self.layout.root))
        return completed is not None and completed.sources[0].get(self.topic, {}).get(0) == self.sent

    def wait(self, what: str, patience: float = PATIENCE_S) -> None:
        wait_until(self.is_done, f"{what}\n{self.driver.output}", patience)

    def pause(self) -> tuple[int, psutil.Process]:
        """Send batches until an executor stands still with one in its hands; return its number and who."""
        for number in self.rounds:
            self.send((f"stale-{number}", "old"), (f"gone-{number}", "old"), (f"back-{number}", None))
            wait_until(lambda: self.is_done() or bool(self.cluster.paused()), "a batch is done, or held")
            if self.cluster.paused():
                return number, self.cluster.paused()[0]
            assert number < len(PAUSES) + WARM_UP // 2, "no executor was paused"
        raise AssertionError

    def overtake(self, number: int, batches: int) -> None:
        """Complete the held batch elsewhere, and newer ones that change all of its rows."""
        self.wait("the held batch is done by another executor")
        self.send((f"stale-{number}", "new"), (f"gone-{number}", None), (f"back-{number}", "new"))
        self.wait("the batch that changes everything")
        for more in range(batches - 1):
            self.send((f"more-{number}-{more}", "v"))
            self.wait("a newer batch")

    def shown(self) -> dict[bytes, dict[bytes, bytes]]:
        return visible(self.lab.cells(self.config))

    def revive(self, zombie: psutil.Process) -> None:
        """Let it go on, and wait until what it held has reached HBase."""
        table = self.config.sink.hbase.table
        before = self.lab.hbase.write_requests(table)
        zombie.send_signal(signal.SIGCONT)
        wait_until(lambda: self.lab.hbase.write_requests(table) > before, "the zombie has written", 10)


@pytest.fixture(scope="module")
def story(lab: Lab) -> Iterator[Story]:
    folder = lab.folder("zombies")
    topic = lab.topic()
    document = lab.document(
        topic,
        lab.name("zombies"),
        source={"format": "json", "schema": "id STRING, v STRING, op STRING", "stop": "never"},
        sink={
            "columns": {"d": ["v"]},
            "op": "op",
            "flush": {"rows": ROWS_PER_FLUSH, "interval": "60s"},
            "create-table": {"regions": 1},
        },
        checkpointing={"dir": str(folder / "checkpoint"), "retained": 1000},
    )
    with ExitStack() as stack:
        spark = stack.enter_context(cluster(folder))
        document |= {"spark": {"master": spark.master, "conf": CONF}}
        driver = stack.enter_context(Driver(write_pipeline(folder, document)))
        told = Story(lab, spark, driver, Config(**document), topic)
        told.send(("hello", "v"))
        told.wait("a cluster, a driver, two executors and the first record", 3 * PATIENCE_S)
        told.send(*((f"first-{number}", "v") for number in range(ROWS_PER_FLUSH * WARM_UP)))
        told.wait("the batch of many flushes")
        yield told


def attempts(story: Story) -> list[Any]:
    """Return the attempt that acknowledged each checkpoint with rows."""
    files = CheckpointFiles(Store.at(story.config.checkpointing.dir))
    stored = [found for number in files.ids() if (found := files.get(number)) is not None]
    return [ack.details["attempt"] for each in stored for ack in each.acknowledgements if ack.rows]


def test_a_zombie_that_wakes_after_newer_batches_changes_nothing(story: Story) -> None:
    number, zombie = story.pause()
    story.overtake(number, NEWER)
    before = story.shown()
    story.revive(zombie)
    assert story.shown() == before == story.expected
    # One batch went to the second of two attempts by speculation, one because its acknowledgement was lost.
    assert sorted(attempts(story))[-2:] == [1, 1]


def test_a_zombie_that_wakes_after_a_major_compaction_brings_no_row_back(story: Story) -> None:
    number, zombie = story.pause()
    story.overtake(number, 2)
    table, gone = story.config.sink.hbase.table, f"gone-{number}".encode()
    story.lab.hbase.compact(table)
    assert [cell[4] for cell in story.lab.cells(story.config) if cell[0] == gone] == ["DeleteFamily"]
    story.revive(zombie)
    # The late put is in the table again, below the marker that the compaction has kept.
    kinds = [cell[4] for cell in story.lab.cells(story.config) if cell[0] == gone]
    assert kinds == ["DeleteFamily", "Put"]
    assert story.shown() == story.expected


def test_an_executor_that_is_killed_costs_an_attempt_and_no_restart(story: Story) -> None:
    _, held = story.pause()
    held.send_signal(signal.SIGKILL)
    story.wait("the held batch is done by another executor")
    story.send(("after", "v"))
    story.wait("a batch after the kill")
    assert story.shown() == story.expected
    assert "Restarting" not in story.driver.output
    story.driver.interrupt()
    assert story.driver.end() == 0, story.driver.output
    report = verify_pipeline(story.config, story.lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0
