from __future__ import annotations

import json

import pytest

from milepost.config import Config, HBaseSink, KafkaSource
from milepost.sink import hbase

SINK = HBaseSink(
    quorum="zk:2181",
    table="orders",
    row_key=["id", "_kafka.topic"],
    columns={"d": ["customer"], "e": {"amt": "amount"}},
    op="op",
    version={"column": "ts"},
    properties={"hbase.rpc.timeout": "5"},
)


def test_the_mapping_is_spelled_out():
    options = hbase.mapping_options(SINK)
    assert json.loads(options["columns"]) == {"d": {"customer": "customer"}, "e": {"amt": "amount"}}
    assert json.loads(options["row-key"]) == ["id", "_kafka.topic"]
    assert options["quorum"] == "zk:2181"
    assert options["hbase.rpc.timeout"] == "5"


def test_the_write_has_flush_and_version():
    options = hbase.write_options(SINK)
    assert options["version"] == "column:ts"
    assert (options["flush.rows"], options["flush.bytes"], options["flush.interval-ms"]) == (
        "1000",
        "8388608",
        "1000",
    )
    assert options["op"] == "op"


@pytest.mark.parametrize(
    ("mode", "chosen", "word"),
    [
        ("exactly-once", {}, "offset"),
        ("at-least-once", {}, "server-time"),
        ("at-least-once", {"version": "timestamp"}, "timestamp"),
    ],
)
def test_the_version_follows_the_mode(mode: str, chosen: dict[str, str], word: str):
    sink = {"quorum": "zk:2181", "table": "orders", "row-key": ["id"], "columns": {"d": ["v"]}}
    config = Config(
        name="n",
        source=KafkaSource(bootstrap_servers="b:1", topics="t"),
        sink={"hbase": sink | chosen},
        checkpointing={"dir": "/data", "mode": mode},
    )
    assert hbase.write_options(config.sink.hbase)["version"] == word


def test_every_column_the_sink_reads_is_known_by_the_key_that_names_it():
    assert hbase.needed_columns(SINK) == {
        "id": "sink.hbase.row-key",
        "_kafka.topic": "sink.hbase.row-key",
        "customer": "sink.hbase.columns.d",
        "amount": "sink.hbase.columns.e",
        "op": "sink.hbase.op",
        "ts": "sink.hbase.version.column",
    }
