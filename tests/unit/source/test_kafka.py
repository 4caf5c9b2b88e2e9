from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source import kafka
from milepost.source.topic_facts import KafkaFacts, PartitionFacts, TopicFacts

FACTS = KafkaFacts(
    {"t": TopicFacts("id", {0: PartitionFacts(earliest=2, latest=9, group=5, at_timestamp=7)})},
    frozenset({"t"}),
)


def source(**values: Any) -> KafkaSource:
    return KafkaSource(**{"bootstrap_servers": "b:9092", "topics": ["t"], "group_id": "g"} | values)


@pytest.mark.parametrize(
    ("start", "offset"),
    [
        ("group-offsets", 5),
        ("earliest", 2),
        ("latest", 9),
        ({"timestamp": "2026-01-01T00:00:00Z"}, 7),
        ({"offsets": {"t": {0: 4}}}, 4),
        ({"offsets": {"t": {0: "earliest"}}}, 2),
        ({"offsets": {"t": {0: "latest"}}}, 9),
    ],
)
def test_every_start_mode(start: Any, offset: int):
    plan = kafka.plan_start(source(start=start), FACTS, None, None)
    assert plan.offsets() == {"t": {0: offset}}


def test_a_completed_checkpoint_wins_over_the_configured_start():
    plan = kafka.plan_start(source(start="latest"), FACTS, CompletedBatch(3, ({"t": {0: 6}},)), {"t": {0: 2}})
    assert plan.offsets() == {"t": {0: 6}}
    assert plan.resumed_from == 3


def test_a_first_start_that_never_completed_begins_where_it_began():
    plan = kafka.plan_start(source(start="latest"), FACTS, None, {"t": {0: 3}})
    assert plan.offsets() == {"t": {0: 3}}
    assert plan.resumed_from is None


@pytest.mark.parametrize(
    ("stop", "ends"),
    [("never", None), ("latest", {"t": {0: 9}}), ({"offsets": {"t": {0: 8}}}, {"t": {0: 8}})],
)
def test_every_stop_mode(stop: Any, ends: Any):
    assert kafka.plan_start(source(stop=stop), FACTS, None, None).stop == ends


@pytest.mark.parametrize("key", ["start", "stop"])
def test_offsets_of_a_partition_that_does_not_exist_are_refused(key: str):
    with pytest.raises(PreflightError, match="t-7"):
        kafka.plan_start(source(**{key: {"offsets": {"t": {0: 4, 7: 1}}}}), FACTS, None, None)


def test_the_broker_is_asked_for_what_the_plan_needs():
    options = kafka.facts_options(
        source(start={"timestamp": datetime(2026, 1, 1, tzinfo=timezone.utc).isoformat()})
    )
    assert options["topics"] == "t"
    assert "group" not in options, "whoever need not look at the group may lack the right"
    assert options["timestamp-ms"] == "1767225600000"
    assert options["kafka.bootstrap.servers"] == "b:9092"
    assert options["kafka.isolation.level"] == "read_committed"


@pytest.mark.parametrize(("start", "options"), [("group-offsets", {"group": "g"}), ("earliest", {})])
def test_the_group_is_asked_for_only_where_the_start_depends_on_it(start: str, options: dict[str, str]):
    assert kafka.group_options(source(start=start)) == options


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("fail", {"bad-records": "fail"}),
        ("skip", {"bad-records": "skip"}),
        ({"dead-letter": "dlt"}, {"bad-records": "dead-letter", "bad-records.topic": "dlt"}),
    ],
)
def test_the_policy_is_spelled_out(policy: Any, options: dict[str, str]):
    assert kafka.policy_options(source(bad_records=policy)) == options


@pytest.mark.parametrize(
    ("values", "row_key", "column"),
    [
        ({"format": "raw"}, ("key",), "key"),
        ({"format": "string"}, ("other",), "key"),
        ({"format": "json", "schema": "id STRING"}, ("id",), "id"),
        ({"format": "json", "schema": "id STRING, k STRING", "key_column": "k"}, ("id",), "k"),
        ({"format": "json", "schema": "a STRING, b STRING"}, ("a", "b"), None),
    ],
)
def test_where_a_tombstone_puts_its_key(values: dict[str, Any], row_key: tuple[str, ...], column: str | None):
    assert kafka.tombstone_column(source(**values), row_key) == column


def test_a_poll_takes_what_a_fetch_brings_unless_told_otherwise():
    assert kafka.record_options(source())["kafka.max.poll.records"] == "50000"
    chosen = kafka.record_options(source(properties={"max.poll.records": 7}))
    assert chosen["kafka.max.poll.records"] == "7"
    assert "kafka.max.poll.records" not in kafka.facts_options(source())
