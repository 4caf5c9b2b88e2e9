"""The HBase sink: every key, its defaults, and what does not fit together."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from milepost.config import HBaseSink, VersionColumn

H = "sink/hbase/"

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({H + "quorum": ""}, "quorum", "is empty"),
    ({H + "quorum": "zk://a"}, "quorum", "without a scheme"),
    ({H + "table": ""}, "table", "must not be empty"),
    ({H + "table": "a:b:c"}, "table", "not a table name"),
    ({H + "table": "-a"}, "table", "not a table name"),
    ({H + "table": "a b"}, "table", "not a table name"),
    ({H + "table": "hbase:meta"}, "table", "system namespace"),
    ({H + "row-key": []}, "row-key", "must not be empty"),
    ({H + "row-key": ""}, "row-key", "must not be empty"),
    ({H + "row-key": ["id", "id"]}, "row-key", "more than once"),
    ({H + "row-key": ["_kafka.timestamp"]}, "row-key[0]", "cannot be part of a row key"),
    ({H + "salt": 1}, "salt", "must be 0 (no salt) or 2 to 256"),
    ({H + "salt": 257}, "salt", "must be 0 (no salt) or 2 to 256"),
    ({H + "salt": -1}, "salt", "must be 0 (no salt) or 2 to 256"),
    ({H + "columns": {}}, "columns", "at least 1 item"),
    ({H + "columns": []}, "columns", "must be a mapping"),
    ({H + "columns": {"d": []}}, "columns.d", "at least 1 item"),
    ({H + "columns": {"d": ["a", "a"]}}, "columns.d", "maps 'a' twice"),
    ({H + "columns": {"d": [1]}}, "columns.d", "must be a list of columns"),
    ({H + "columns": {"d": {"q": 1}}}, "columns.d.q", "must be text"),
    ({H + "columns": {"d": {"": "a"}}}, "columns.d.", "must not be empty"),
    ({H + "columns": {"d:": ["a"]}}, "columns.d:", "not a column family"),
    ({H + "columns": {"d": ["_kafka.offset"]}}, "columns.d._kafka.offset", "reserved by Milepost"),
    ({H + "op": ""}, "op", "must not be empty"),
    ({H + "delete": "all"}, "delete", "must be one of row, columns"),
    ({H + "nulls": "ignore"}, "nulls", "must be one of skip, empty, delete"),
    ({H + "encoding": "avro"}, "encoding", "must be one of native, string, json"),
    ({H + "version": "now"}, "version", "must be one of offset, checkpoint, timestamp"),
    ({H + "version": {"colum": "x"}}, "version", "{column: name}"),
    ({H + "flush": {"rows": 0}}, "flush.rows", "must be at least 1"),
    ({H + "flush": {"bytes": "8 megs"}}, "flush.bytes", "is not a size"),
    ({H + "flush": {"bytes": 0}}, "flush.bytes", "must be at least 1"),
    ({H + "flush": {"interval": 0}}, "flush.interval", "greater than zero"),
    ({H + "flush": {"interval": "-1s"}}, "flush.interval", "must not be negative"),
    ({H + "flush": {"row": 5}}, "flush.row", "did you mean rows?"),
    ({H + "guard": "lock"}, "guard", "must be one of none, cas"),
    (
        {H + "guard": "cas", H + "version": "server-time", "checkpointing/mode": "at-least-once"},
        "guard",
        "cas compares versions",
    ),
    (
        {H + "guard": "cas", H + "columns": {"e": ["a"], "d": {"_milepost": "a"}}},
        "columns",
        "d:_milepost is reserved for",
    ),
    ({H + "write": "hfiles"}, "write", "must be one of mutations, bulk-load, auto"),
    ({H + "bulk-load-from": 0}, "bulk-load-from", "must be at least 1"),
    (
        {H + "write": "auto", "checkpointing/execution": "real-time", "checkpointing/interval": "1s"},
        "write",
        "use mutations, or execution micro-batch",
    ),
    ({H + "write": "bulk-load", "checkpointing/mode": "at-least-once"}, "write", "set version to offset"),
    ({H + "guard": "cas", H + "write": "auto"}, "write", "auto cannot compare versions before it writes"),
    ({H + "create-table": {"regions": 0}}, "create-table.regions", "must be at least 1"),
    ({H + "create-table": True}, "create-table", "must be a mapping"),
    ({H + "properties": {"zookeeper.x": "y"}}, "properties.zookeeper.x", "not an hbase.* key"),
    ({H + "properties": {"hbase.zookeeper.quorum": "y"}}, "properties.hbase.zookeeper.quorum", "use quorum"),
    ({H + "retries": -1}, "retries", "is not a known key"),
]


@pytest.mark.parametrize(("changes", "path", "sentence"), REFUSED)
def test_refused(faults, changes: dict[str, Any], path: str, sentence: str):
    found = faults(changes)
    assert list(found) == [f"sink.hbase.{path}"]
    assert sentence in found[f"sink.hbase.{path}"]


@pytest.mark.parametrize(
    "changes",
    [
        {H + "table": "shop:orders.v2-x"},
        {H + "row-key": "id"},
        {H + "row-key": ["_kafka.topic", "_kafka.partition", "_kafka.offset", "_kafka.key", "id"]},
        {H + "salt": 0},
        {H + "salt": 256},
        {H + "columns": {"d": {"q": "a", "r": "a"}, "e": ["a"], "f": "b"}},
        {H + "version": "timestamp"},
        {H + "version": {"column": "updated"}},
        {H + "write": "bulk-load", H + "staging-dir": "hdfs://nn/staging"},
        {H + "write": "auto", H + "bulk-load-from": 1},
        {H + "create-table": {}},
        {H + "properties": {"hbase.rpc.timeout": 5000}},
    ],
)
def test_accepted(faults, changes: dict[str, Any]):
    assert faults(changes) == {}


def test_quorum_or_site(faults, removed, tmp_path: Path):
    site = tmp_path / "hbase-site.xml"
    site.write_text("<configuration/>")
    assert faults({H + "site": str(site)}) == {
        "sink.hbase.site": "cannot be combined with quorum; keep one of the two"
    }
    assert faults({H + "quorum": removed}) == {"sink.hbase.quorum": "is required unless site is set"}
    assert faults({H + "quorum": removed, H + "site": str(site)}) == {}
    assert "is not a file" in faults({H + "quorum": removed, H + "site": "nope.xml"})["sink.hbase.site"]
    assert "is not a file" in faults({H + "quorum": removed, H + "site": "a\0b"})["sink.hbase.site"]


def test_defaults():
    sink = HBaseSink(quorum="zk", table="orders", row_key="id", columns={"d": ["a"]})
    assert sink.quorum == ("zk:2181",)
    assert sink.columns == {"d": {"a": "a"}}
    assert (sink.salt, sink.delete, sink.nulls, sink.encoding) == (0, "row", "skip", "native")
    assert (sink.version, sink.write, sink.guard, sink.create_table, sink.op) == (
        "offset",
        "mutations",
        "none",
        None,
        None,
    )
    assert (sink.flush.rows, sink.flush.bytes, sink.flush.interval) == (5000, 8 << 20, timedelta(seconds=1))


def test_version_from_a_column():
    sink = HBaseSink(quorum="zk", table="t", row_key="id", columns={"d": ["a"]}, version={"column": "ts"})
    assert sink.version == VersionColumn(column="ts")
