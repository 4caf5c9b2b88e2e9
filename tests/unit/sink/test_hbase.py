from __future__ import annotations

import json

import pytest

from milepost.config import Checkpointing, Config, HBaseSink, KafkaSource
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


@pytest.mark.parametrize("timeout", ["1ms", "100ms", "1s", "9s", "2m", "150s", "10m", "1d"])
def test_hbase_gives_up_before_the_checkpoint_does(timeout: str):
    checkpointing = Checkpointing(dir="/c", interval="0s", timeout=timeout)
    milliseconds = hbase.operation_timeout_ms(checkpointing.timeout)
    assert 1 <= milliseconds <= 120_000
    assert milliseconds < checkpointing.timeout.total_seconds() * 1000 or timeout == "1ms"


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, True),
        ({"version": "timestamp"}, True),
        ({"version": "server-time"}, False),
        ({"guard": "cas"}, False),
    ],
)
def test_delete_markers_are_needed_where_only_versions_keep_old_writes_out(
    changes: dict[str, str], needed: bool
):
    assert hbase.needs_delete_markers(SINK.model_copy(update=changes)) is needed


def test_the_write_has_flush_and_version():
    options = hbase.write_options(SINK)
    assert options["version"] == "column:ts"
    assert (options["flush.rows"], options["flush.bytes"], options["flush.interval-ms"]) == (
        "5000",
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
