from __future__ import annotations

from typing import Any

import pytest

from milepost.config import Config
from milepost.sink.choose import create_stage

HBASE = {"quorum": "zk:2181", "table": "t", "row-key": ["id"], "columns": {"d": ["v"]}}


def config(sink: dict[str, Any]) -> Config:
    return Config(
        name="job",
        source={"kafka": {"bootstrap-servers": "b:1", "topics": ["in"]}},
        sink=sink,
        checkpointing={"dir": "/data"},
    )


@pytest.mark.parametrize(
    ("sink", "engine"),
    [
        ({"hbase": HBASE}, "milepost-hbase"),
        ({"kafka": {"bootstrap-servers": "b:1", "topic": "out"}}, "milepost-kafka-sink"),
        ({"console": {}}, "milepost-rows"),
        ({"python": "module:Class"}, "milepost-rows"),
    ],
)
def test_every_kind_of_sink_has_its_stage(sink: dict[str, Any], engine: str):
    assert create_stage(config(sink), lambda *_: list).format == engine


def test_the_class_of_a_python_sink_is_looked_for_under_its_key():
    asked: list[tuple[str, str]] = []

    def load(reference: str, key: str) -> type:
        asked.append((reference, key))
        return list

    create_stage(config({"python": "module:Class"}), load)
    assert asked == [("module:Class", "sink.python")]
