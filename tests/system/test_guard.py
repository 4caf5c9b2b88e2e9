"""`guard: cas`: a row takes only newer changes, whatever time its cells carry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.system.lab import Lab, Sent, visible

from milepost.config import Checkpointing, Config, HBaseSink
from milepost.errors import PreflightError

SCHEMA = "id STRING, a STRING, b STRING, op STRING"
GUARD = b"_milepost"
DAY_S = 86_400


def expiring_table(lab: Lab) -> str:
    name, hbase = lab.name("guarded"), lab.hbase.jvm.org.apache.hadoop.hbase
    family = hbase.client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setTimeToLive(DAY_S).build()
    table = hbase.client.TableDescriptorBuilder.newBuilder(hbase.TableName.valueOf(name))
    lab.hbase.connection.getAdmin().createTable(table.setColumnFamily(family).build())
    return name


def job(lab: Lab, table: str, *documents: dict[str, Any], **sink: Any) -> Config:
    records = [Sent(json.dumps({"op": "u"} | each).encode(), b"k") for each in documents]
    return lab.config(
        lab.topic(*records),
        table,
        source={"format": "json", "schema": SCHEMA},
        sink={"columns": {"d": ["a", "b"]}, "op": "op", "guard": "cas"} | sink,
    )


def shown(lab: Lab, config: Config) -> dict[bytes, dict[bytes, bytes]]:
    """Return what a client sees, with the guard as the number it holds."""
    rows = visible(lab.cells(config))
    return {row: {q: v for q, v in cells.items() if q != GUARD} for row, cells in rows.items()}


def sink_without(config: Config) -> HBaseSink:
    return config.sink.hbase.model_copy(update={"guard": "none", "version": "timestamp"})


def elsewhere(lab: Lab, config: Config) -> Checkpointing:
    """Return a directory that knows nothing: the job begins at the first record, with the same versions."""
    return config.checkpointing.model_copy(update={"dir": str(lab.folder("checkpoint"))})


def guards(lab: Lab, config: Config) -> dict[bytes, int]:
    return {row: int.from_bytes(cells[GUARD], "big") for row, cells in visible(lab.cells(config)).items()}


@pytest.mark.parametrize("rows", [1, 1000], ids=["a flush each", "one flush"])
def test_a_table_that_expires_and_has_other_writers_mirrors_the_stream(lab: Lab, rows: int) -> None:
    table = expiring_table(lab)
    # A foreign value at the time of day would hide every put whose version is an offset.
    lab.hbase.put(table, b"k", {(b"d", b"a"): b"foreign"})
    config = job(
        lab,
        table,
        {"id": "k", "a": "1", "b": "1"},
        {"id": "k", "a": "2"},
        {"id": "gone", "a": "1"},
        {"id": "gone", "op": "d"},
        {"id": "back", "a": "1", "b": "1"},
        {"id": "back", "op": "d"},
        {"id": "back", "b": "2"},
        flush={"rows": rows},
    )
    progress = lab.finish(config)
    expected = {b"k": {b"a": b"2", b"b": b"1"}, b"gone": {}, b"back": {b"b": b"2"}}
    assert shown(lab, config) == expected
    assert guards(lab, config) == {b"k": 1, b"gone": 3, b"back": 6}
    assert progress.totals["superseded"] == 0
    # A reader of ours sees the rows, and no guard.
    assert {row.id for row in lab.rows(config, "id STRING, a STRING, b STRING")} == {"k", "back"}
    # All of it once more, as a zombie or a replay would: refused row by row, and counted.
    before = sorted(lab.cells(config))
    again = lab.finish(config.model_copy(update={"checkpointing": elsewhere(lab, config)}))
    assert again.totals["superseded"] == (7 if rows == 1 else 3)
    assert sorted(lab.cells(config)) == before
    # Times of day in the table would hide whatever comes later with an offset for a version.
    unguarded = config.model_copy(
        update={"sink": config.sink.model_copy(update={"to_hbase": sink_without(config)})}
    )
    with pytest.raises(PreflightError, match="was written with guard: cas"):
        lab.start(unguarded)


def test_a_zombie_stays_out_also_after_a_major_compaction(lab: Lab) -> None:
    table = lab.table("d")
    options = {
        "quorum": lab.services.quorum,
        "table": table,
        "row-key": '["id"]',
        "columns": '{"d": ["a"]}',
        "op": "op",
        "version": "column:n",
        "guard": "cas",
        "encoding": "string",
    }

    def write(*changes: tuple[str, str, str, int]) -> None:
        rows = lab.spark.createDataFrame(list(changes), "id STRING, a STRING, op STRING, n BIGINT").coalesce(
            1
        )
        rows.write.format("milepost-hbase").options(**options).mode("append").save()

    write(("gone", "old", "u", 90), ("kept", "new", "u", 300))
    write(("gone", "", "d", 100))
    lab.hbase.compact(table)
    write(("gone", "old", "u", 90), ("kept", "old", "u", 5))
    assert set(lab.hbase.get(table, b"gone")) == {(b"d", GUARD)}
    assert lab.hbase.get(table, b"kept")[b"d", b"a"] == b"new"
    write(("kept", "newer", "u", 301))
    assert lab.hbase.get(table, b"kept")[b"d", b"a"] == b"newer"
