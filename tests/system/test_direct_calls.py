"""Mutations go straight to their region server; what a region refuses that has split or closed goes the long way."""

from __future__ import annotations

from typing import Any

from tests.system.lab import Lab, numbered, visible, wait_until

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import Store
from milepost.config import Config

ROWS = 300


def written(config: Config) -> tuple[int, int]:
    """Return the mutations of the newest checkpoint, and how many of them went straight to their server."""
    files = CheckpointFiles(Store.at(config.checkpointing.dir))
    newest = files.get(max(files.ids()))
    assert newest is not None
    details = [ack.details for ack in newest.acknowledgements]
    return sum(each["mutations"] for each in details), sum(each["direct"] for each in details)


def split(lab: Lab, table: str, at: bytes) -> None:
    """Split the table, and return when both halves serve and the whole does no more."""
    name: Any = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(table)
    admin = lab.hbase.connection.getAdmin()
    before = admin.getRegions(name).size()
    admin.split(name, at)
    wait_until(lambda: int(admin.getRegions(name).size()) == before + 1, "the split")
    wait_until(lambda: bool(admin.isTableAvailable(name)), "both halves")


def test_a_split_between_two_batches_loses_nothing_and_is_learnt(lab: Lab) -> None:
    topic = lab.topic(*numbered(ROWS))
    config = lab.numbers(topic)
    lab.finish(config)
    assert written(config) == (ROWS, ROWS)
    split(lab, config.sink.hbase.table, b"k2")
    lab.produce(topic, *numbered(ROWS, first=ROWS))
    lab.finish(config)
    mutations, direct = written(config)
    assert (mutations, direct < ROWS) == (ROWS, True), "the region that was known is no more"
    lab.produce(topic, *numbered(ROWS, first=2 * ROWS))
    lab.finish(config)
    assert written(config) == (ROWS, ROWS), "both halves are known now"
    assert visible(lab.cells(config)) == {f"k{n}".encode(): {b"n": str(n).encode()} for n in range(3 * ROWS)}


def test_regions_that_close_and_open_while_a_job_writes_lose_nothing(lab: Lab) -> None:
    topic = lab.topic(*numbered(ROWS, partitions=2), partitions=2)
    config = lab.numbers(topic, source={"stop": "never"}, checkpointing={"interval": "200ms"})
    admin = lab.hbase.connection.getAdmin()
    name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(config.sink.hbase.table)
    with lab.running(config) as run:
        for number in range(1, 4):
            region = admin.getRegions(name).get(0).getRegionName()
            admin.unassign(region, False)
            lab.produce(topic, *numbered(ROWS, first=number * ROWS, partitions=2))
            admin.assign(region)
        wait_until(lambda: run.job.progress().rows == 4 * ROWS, "every record is in a checkpoint")
    assert visible(lab.cells(config)) == {f"k{n}".encode(): {b"n": str(n).encode()} for n in range(4 * ROWS)}
