"""What a savepoint says of its job."""

from __future__ import annotations

import json
from typing import Any

from milepost.checkpoint.savepoint.job_outline import outline
from milepost.config import Config


def config(**changes: Any) -> Config:
    kafka: dict[str, Any] = {
        "bootstrap-servers": "h:9092",
        "topics": ["b", "a"],
        "group-id": "g",
        "start": "earliest",
    }
    kafka |= {"format": "json", "schema": "id STRING, n INT", "properties": {"ssl.key.password": "hunter2"}}
    hbase = {"quorum": "h:2181", "table": "t", "row-key": ["id"], "columns": {"d": ["n"]}}
    hbase["version"] = "timestamp"
    document = {"name": "orders", "source": {"kafka": kafka}, "sink": {"hbase": hbase}}
    return Config(**(document | {"checkpointing": {"dir": "/data"}} | changes))


def test_topics_schema_table_and_families_and_no_secret():
    made = outline(config())
    (source,) = made["sources"].values()
    assert source["topics"] == ["a", "b"]
    assert source["schema"] == "id STRING, n INT"
    hbase = {"table": "t", "families": ["d"], "row-key": ["id"], "version": "timestamp"}
    assert made["sink"]["hbase"] == hbase
    assert made["state-backend"] == "rocksdb"
    assert "hunter2" not in json.dumps(made)


def test_other_sinks_by_their_kind():
    assert outline(config(sink={"console": {}}))["sink"] == {"console": {}}
