"""At-least-once in the sink: where HBase's clock makes the versions, a replay is seen, and records keep their order."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.system.lab import PATIENCE_S, Lab, visible

from milepost.verify.compare import RawCell
from milepost.verify.table import raw_cells

SCHEMA = "id STRING, a STRING, b STRING, op STRING, n BIGINT"


class Stream:
    """A stream of one file per batch into a table that keeps five versions."""

    def __init__(self, lab: Lab, **options: str) -> None:
        self.lab = lab
        self.folder = lab.folder("stream")
        self.input = self.folder / "input"
        self.input.mkdir()
        self.checkpoint = self.folder / "checkpoint"
        self.connection = {"quorum": lab.services.quorum, "table": lab.name("t")}
        self.options = {"row-key": '["id"]', "columns": '{"d": ["a", "b"]}', "encoding": "string"} | options
        client = lab.hbase.jvm.org.apache.hadoop.hbase.client
        family = client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setMaxVersions(5).build()
        name = lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(self.connection["table"])
        table = client.TableDescriptorBuilder.newBuilder(name).setColumnFamily(family).build()
        lab.hbase.connection.getAdmin().createTable(table)

    def arrive(self, records: Sequence[Mapping[str, Any]]) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self.input / f"{len(list(self.input.iterdir()))}.json").write_text(lines)

    def run(self) -> None:
        """Write everything that has arrived."""
        rows = self.lab.spark.readStream.schema(SCHEMA).json(str(self.input)).coalesce(1)
        writer = rows.writeStream.format("milepost-hbase").options(**self.connection, **self.options)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(int(PATIENCE_S))

    def forget_commit(self, batch: int) -> None:
        """Leave the directory as a driver does that dies between the seal and Spark's commit."""
        Path(self.checkpoint, "commits", str(batch)).unlink()

    def cells(self) -> list[RawCell]:
        return list(raw_cells(self.lab.spark, self.connection))

    def versions(self) -> dict[tuple[bytes, bytes], set[int]]:
        found: dict[tuple[bytes, bytes], set[int]] = defaultdict(set)
        for row, _, qualifier, version, kind, _ in self.cells():
            assert kind == "Put"
            found[row, qualifier].add(version)
        return dict(found)


@pytest.mark.parametrize(
    ("version", "written"), [("server-time", 2), ("checkpoint", 1), ("column:n", 1)], ids=str
)
def test_a_replay_is_seen_at_the_servers_time_and_nowhere_else(lab: Lab, version: str, written: int):
    stream = Stream(lab, version=version)
    stream.arrive([{"id": "x", "a": "1", "n": 1}, {"id": "y", "a": "2", "b": "3", "n": 2}])
    stream.run()
    assert {position: len(found) for position, found in stream.versions().items()} == {
        (b"x", b"a"): 1,
        (b"y", b"a"): 1,
        (b"y", b"b"): 1,
    }
    stream.forget_commit(0)
    stream.run()
    assert {len(found) for found in stream.versions().values()} == {written}
    assert visible(stream.cells()) == {b"x": {b"a": b"1"}, b"y": {b"a": b"2", b"b": b"3"}}


@pytest.mark.parametrize("delete", ["row", "columns"])
@pytest.mark.parametrize("rows", ["1", "1000"], ids=["a flush each", "one flush"])
def test_records_of_one_row_keep_their_order_at_the_servers_time(lab: Lab, rows: str, delete: str):
    stream = Stream(lab, version="server-time", op="op", delete=delete, **{"flush.rows": rows})
    keys = [f"k{number}" for number in range(40)]
    records = [
        record
        for key in keys
        for record in (
            {"id": key, "a": "old", "b": "old", "op": "c"},
            {"id": key, "op": "d"},
            {"id": key, "a": "new", "op": "c"},
        )
    ]
    stream.arrive([*records, {"id": "gone", "a": "x", "op": "c"}, {"id": "gone", "op": "d"}])
    stream.run()
    assert {key: lab.hbase.get(stream.connection["table"], key.encode()) for key in keys} == {
        key: {(b"d", b"a"): b"new"} for key in keys
    }
    assert lab.hbase.get(stream.connection["table"], b"gone") == {}


def test_a_null_that_deletes_and_a_later_value_keep_their_order(lab: Lab):
    stream = Stream(lab, version="server-time", nulls="delete")
    stream.arrive([{"id": "k", "a": "1"}, {"id": "k", "b": "2"}, {"id": "k", "a": "3"}])
    stream.run()
    assert lab.hbase.get(stream.connection["table"], b"k") == {(b"d", b"a"): b"3"}


def test_the_reader_gives_the_newest_values(lab: Lab):
    stream = Stream(lab, version="server-time")
    stream.arrive([{"id": "k", "a": "1", "b": "1"}])
    stream.run()
    stream.arrive([{"id": "k", "a": "2"}])
    stream.run()
    reader = lab.spark.read.format("milepost-hbase").schema("id STRING, a STRING, b STRING")
    rows = reader.options(**stream.connection, **stream.options).load().collect()
    assert [tuple(row) for row in rows] == [("k", "2", "1")]
