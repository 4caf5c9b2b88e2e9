"""HFiles: loaded when a checkpoint is sealed, chosen by the size of a batch, and none of them lost or half loaded."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, Sent, wait_until

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import STAGING, Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config, load_config
from milepost.demo.driver import read_position
from milepost.demo.producer import LiveProducer
from milepost.demo.workload import SCHEMA, Event, events
from milepost.job.status import JobStatus
from milepost.verify import verify_pipeline

COLUMNS = {"d": ["customer", "amount"], "e": {"n": "seq"}}
KILLED = -9


def writes(layout: Layout) -> list[set[str]]:
    """Return how the writers of each stored checkpoint have written."""
    files = CheckpointFiles(LocalStore(layout.root))
    stored = [checkpoint for each in files.ids() if (checkpoint := files.get(each)) is not None]
    return [{str(ack.details["write"]) for ack in each.acknowledgements} for each in stored]


def staged(layout: Layout) -> list[Path]:
    """Return the HFiles that wait to be loaded."""
    return [path for path in (layout.root / STAGING).rglob("*") if path.is_file()]


def require_equal_to_log(lab: Lab, config: Config, records: int) -> None:
    report = verify_pipeline(config, lab.spark)
    expected = f"VERIFIED records={records} missing=0 extra=0 stale=0 duplicates=0"
    assert report.line == expected, report.lines()


def document(lab: Lab, topic: str, directory: Path, **sink: Any) -> dict[str, Any]:
    return lab.document(
        topic,
        lab.table("d", "e"),
        source={"format": "json", "schema": SCHEMA},
        sink={"columns": COLUMNS, "op": "op", **sink},
        checkpointing={"dir": str(directory), "interval": "0s", "retained": 1_000},
    )


def test_auto_loads_a_backlog_and_sends_what_comes_after_it(lab: Lab) -> None:
    topic, directory = lab.topic(partitions=2), lab.folder("auto")
    config = Config(**document(lab, topic, directory, write="auto", **{"bulk-load-from": 1_000}))
    layout, story = Layout(directory), events(4_000, seed=3)
    # The same keys again and again, so that each way of writing meets cells and markers of the other.
    for count, expected in ((2_000, "bulk-load"), (300, "mutations"), (1_700, "bulk-load")):
        send(lab, topic, islice(story, count), count)
        assert lab.finish(config).rows == count
        assert writes(layout)[-1] == {expected}
    assert staged(layout) == []
    require_equal_to_log(lab, config, 4_000)


def send(lab: Lab, topic: str, story: Iterator[Event], count: int) -> None:
    LiveProducer(lab.services.bootstrap_servers, topic, story).send(count)


def test_of_equal_versions_the_later_checkpoint_shows(lab: Lab) -> None:
    topic, schema = lab.topic(), "id STRING, v BIGINT, n STRING"
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": schema},
        sink={
            "columns": {"d": ["n"]},
            "version": {"column": "v"},
            "write": "auto",
            "bulk-load-from": 2,
            "nulls": "delete",
        },
    )
    for values in (["sent"], ["loaded", "loaded later"], ["sent again"], ["x", "loaded again"]):
        records = [Sent(json.dumps({"id": "k", "v": 5, "n": value}).encode()) for value in values]
        lab.produce(topic, *records)
        lab.finish(config)
        assert [row["n"] for row in lab.rows(config, "id STRING, n STRING")] == values[-1:]


def regions(lab: Lab, table: str) -> int:
    name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)
    return len(lab.hbase.connection.getAdmin().getRegions(name))


def split(lab: Lab, table: str, row: bytes) -> None:
    """Split the table's only region there."""
    name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)
    lab.hbase.connection.getAdmin().split(name, row)
    wait_until(lambda: regions(lab, table) == 2, "the region is split")


def is_stopped(driver: Driver) -> bool:
    return psutil.Process(driver.process.pid).status() == psutil.STATUS_STOPPED


@pytest.mark.timeout(400)
def test_killed_around_the_load_and_split_before_it_nothing_is_lost(lab: Lab) -> None:
    records, folder = 3_000, lab.folder("kills")
    topic, layout = lab.topic(partitions=2), Layout(folder / "checkpoint")
    send(lab, topic, events(records, seed=4), records)
    pipeline = document(lab, topic, layout.root, write="bulk-load")
    pipeline["source"]["kafka"]["max-offsets-per-trigger"] = 1_000
    file = write_pipeline(folder, pipeline | {"spark": {"master": "local[2]"}})
    with Driver(file, "6-seal-before@2=kill") as driver:
        assert driver.end() == KILLED, driver.output
    assert read_position(layout).in_flight == 1
    orphans = staged(layout)
    assert orphans, "the second batch was written and not loaded"
    with Driver(file, "6-seal-after@1=kill") as driver:
        assert driver.end() == KILLED, driver.output
    assert read_position(layout).in_flight == 1, "it was loaded and not committed"
    assert staged(layout) == [], "what the first driver left is swept, what the second wrote is loaded"
    with Driver(file, "6-seal-before@1=stop") as driver:
        wait_until(lambda: driver.process.poll() is not None or is_stopped(driver), "stopped", 90)
        assert driver.process.poll() is None, driver.output
        split(lab, pipeline["sink"]["hbase"]["table"], b"order-0000300")
        driver.signal(signal.SIGCONT)
        assert driver.end() == 0, driver.output
    assert writes(layout) == [{"bulk-load"}] * 3
    assert staged(layout) == []
    require_equal_to_log(lab, load_config(file), records)


def test_a_batch_that_fails_leaves_neither_rows_nor_files(lab: Lab) -> None:
    good = [
        Sent(json.dumps({"id": f"k{n}", "op": "upsert", "seq": n}).encode(), partition=0) for n in range(50)
    ]
    topic = lab.topic(*good, Sent(b"no json", partition=1), partitions=2)
    directory = lab.folder("fails")
    pipeline = document(lab, topic, directory, write="bulk-load")
    pipeline["restart"] = {"strategy": "none"}
    run = lab.run_bounded(Config(**pipeline))
    assert run.status is JobStatus.FAILED
    assert "MALFORMED" in str(run.error)
    assert staged(Layout(directory)) == []
    assert lab.hbase.count(pipeline["sink"]["hbase"]["table"]) == 0
