"""What is said of a query before it is taken over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.migrate.adopt import Adoption
from milepost.migrate.plain_spark import SparkCheckpoint


def summary(**parts: Any) -> list[str]:
    values: dict[str, Any] = {
        "address": "/old",
        "query_id": "q",
        "sources": ({"t": {0: 1}},),
        "completed": CompletedBatch(3, ({"t": {0: 1}},)),
        "in_flight": None,
        "newest_batch_ms": 0,
    }
    nothing: Any = None
    plan: Any = SimpleNamespace(versions=SimpleNamespace(generation=1))
    found = SparkCheckpoint(**(values | parts))
    return Adoption(spec=nothing, source=nothing, found=found, plan=plan, command="").summary()


def test_what_will_be_taken_is_said_in_lines():
    assert summary() == [
        "Spark query q in /old: batch 3 completed",
        "cell versions start at generation 1",
    ]


def test_a_batch_that_was_begun_and_state_are_named():
    lines = summary(in_flight=4, operators=("dedupe",), settings={"spark.sql.shuffle.partitions": "8"})
    assert "batch 4 started: it is repeated" in lines[0]
    assert lines[1] == "state of dedupe, in 8 partitions"
