"""Where a job begins and ends, asked of a real broker, and the topics that are refused (B25, B26, B27)."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.system.lab import Lab, Sent, visible

from milepost.config import Config
from milepost.errors import ConfigError, MilepostError, NotReachableError, PreflightError
from milepost.pipeline import inspect

BEGAN = 1_700_000_000_000
COUNT = 6
SINK = {"row-key": ["key"], "columns": {"d": ["value"]}}


def moment(at: int) -> str:
    return datetime.fromtimestamp((BEGAN + at) / 1000, tz=timezone.utc).isoformat()


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    """Two partitions with six records each, a second apart; the key says partition and offset."""
    records = [
        Sent(b"v", b"%d-%d" % (partition, at), partition, BEGAN + 1000 * at)
        for at in range(COUNT)
        for partition in range(2)
    ]
    return lab.topic(*records, partitions=2)


@pytest.fixture(scope="module")
def group(lab: Lab, topic: str) -> str:
    """A group that has committed an offset for partition 0 only."""
    name = lab.name("group")
    commit(lab, name, TopicPartition(topic, 0, 4))
    return name


def commit(lab: Lab, group: str, *offsets: TopicPartition) -> None:
    consumer = Consumer(lab.kafka | {"group.id": group})
    try:
        consumer.commit(offsets=list(offsets), asynchronous=False)
    finally:
        consumer.close()


def job(lab: Lab, topic: str, table: str = "none", **source: Any) -> Config:
    return lab.config(topic, table, source={"format": "string"} | source, sink=SINK)


def begins(lab: Lab, topic: str, **source: Any) -> list[tuple[int, str]]:
    """Return offset and reason of each partition in the start-up plan."""
    plan = inspect(lab.spark, job(lab, topic, shared_table(lab), **source), None)
    return [(each.offset, each.reason) for each in plan.start.partitions]


def shared_table(lab: Lab) -> str:
    name = "start-modes"
    if not lab.hbase.connection.getAdmin().tableExists(
        lab.hbase.jvm.org.apache.hadoop.hbase.TableName.valueOf(name)
    ):
        lab.hbase.create_table(name, "d")
    return name


def test_earliest_and_latest(lab: Lab, topic: str) -> None:
    assert begins(lab, topic, start="earliest") == [(0, "earliest"), (0, "earliest")]
    assert begins(lab, topic, start="latest") == [(6, "latest"), (6, "latest")]


@pytest.mark.parametrize(("word", "offset"), [("earliest", 0), ("latest", 6)])
def test_group_offsets_with_a_fallback(lab: Lab, topic: str, group: str, word: str, offset: int) -> None:
    found = begins(lab, topic, **{"group-id": group, "start": "group-offsets", "start-fallback": word})
    assert found == [(4, "group offset"), (offset, f"{word}: the group has no offset")]


def test_group_offsets_without_a_fallback_are_refused(lab: Lab, topic: str, group: str) -> None:
    with pytest.raises(PreflightError, match=rf"{topic}-1: the group has no offset") as raised:
        begins(lab, topic, **{"group-id": group, "start-fallback": "none"})
    assert f"{topic}-0" not in raised.value.what


def test_a_group_ahead_of_the_end_is_refused(lab: Lab, topic: str) -> None:
    ahead = lab.name("group")
    commit(lab, ahead, TopicPartition(topic, 0, 2), TopicPartition(topic, 1, 600))
    with pytest.raises(PreflightError, match=rf"{topic}-1: the group's offset 600 is beyond the end 6"):
        begins(lab, topic, **{"group-id": ahead})


def test_a_timestamp(lab: Lab, topic: str) -> None:
    assert begins(lab, topic, start={"timestamp": moment(2500)}) == [(3, "timestamp")] * 2
    late = begins(lab, topic, start={"timestamp": "2025-01-01T00:00:00Z"})
    assert late == [(6, "latest: no record is at or after the timestamp")] * 2


def test_given_offsets(lab: Lab, topic: str) -> None:
    given = begins(lab, topic, start={"offsets": {topic: {0: 5, 1: "earliest"}}})
    assert given == [(5, "given offset"), (0, "given offset")]


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [
        ({0: 1}, "1: start.offsets has no offset for this partition"),
        ({0: 1, 1: 7}, "1: the given offset 7 is beyond the end 6"),
        ({0: 1, 1: 1, 2: 0}, "2, which the source does not read"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(
    lab: Lab, topic: str, offsets: dict[int, int], sentence: str
) -> None:
    with pytest.raises(PreflightError, match=sentence):
        begins(lab, topic, start={"offsets": {topic: offsets}})


@pytest.mark.parametrize("offset", [-1, -2, -3])
def test_a_negative_offset_is_refused(lab: Lab, topic: str, offset: int) -> None:
    with pytest.raises(ConfigError, match=r"source\.kafka\.start\.offsets"):
        job(lab, topic, start={"offsets": {topic: {0: offset, 1: 0}}})


def test_a_run_reads_exactly_from_its_start_to_its_end(lab: Lab, topic: str, group: str) -> None:
    config = job(
        lab,
        topic,
        lab.table("d"),
        **{"group-id": group, "start-fallback": "latest", "stop": {"offsets": {topic: {0: 5, 1: "latest"}}}},
    )
    assert lab.finish(config).rows == 1
    assert set(visible(lab.cells(config))) == {b"0-4"}


def test_a_run_between_two_timestamps(lab: Lab, topic: str) -> None:
    span = {"start": {"timestamp": moment(1000)}, "stop": {"timestamp": moment(3000)}}
    config = job(lab, topic, lab.table("d"), **span)
    assert lab.finish(config).rows == 4
    assert set(visible(lab.cells(config))) == {b"0-1", b"0-2", b"1-1", b"1-2"}


def test_a_checkpoint_wins_over_the_start_of_the_file(lab: Lab) -> None:
    topic, table = lab.topic(Sent(b"1", b"a")), lab.table("d")
    first = job(lab, topic, table)
    lab.finish(first)
    lab.produce(topic, Sent(b"2", b"b"))
    again = lab.config(
        topic,
        table,
        source={"format": "string", "start": "latest"},
        sink=SINK,
        checkpointing={"dir": first.checkpointing.dir},
    )
    progress = lab.finish(again)
    assert progress.rows == 1
    assert set(visible(lab.cells(again))) == {b"a", b"b"}


# ---- topics that are refused ----


def refusal(lab: Lab, topic: str, **source: Any) -> tuple[MilepostError, float]:
    config = job(lab, topic, shared_table(lab), **source)
    began = time.monotonic()
    with pytest.raises(MilepostError) as raised:
        lab.start(config)
    assert list(Path(config.checkpointing.dir).iterdir()) == []
    return raised.value, time.monotonic() - began


def test_a_topic_that_is_not_there_is_refused_and_not_created(lab: Lab) -> None:
    error, seconds = refusal(lab, "nowhere-to-be-found")
    assert isinstance(error, PreflightError)
    assert "Topic 'nowhere-to-be-found' does not exist" in error.what
    assert "never creates" in error.why
    assert error.exit_code == 2
    assert seconds < 10
    again, _ = refusal(lab, "nowhere-to-be-found")
    assert str(again) == str(error)


def test_a_misspelled_topic_is_guessed(lab: Lab, topic: str) -> None:
    error, _ = refusal(lab, topic[:-1] + "x")
    assert "Did you mean 't-" in error.fix


def test_a_pattern_that_matches_nothing_is_refused(lab: Lab) -> None:
    pattern = {"topics": None, "topic-pattern": "no-topic-.*"}
    config = lab.config(
        "",
        shared_table(lab),
        source={"format": "string", **pattern},
        sink=SINK | {"row-key": ["_kafka.topic", "key"]},
    )
    with pytest.raises(PreflightError, match="No topic matches the pattern 'no-topic-") as raised:
        lab.start(config)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "source", [{"topics": ["__consumer_offsets"]}, {"topics": None, "topic-pattern": ".*offsets"}]
)
def test_an_internal_topic_is_refused(lab: Lab, source: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="internal"):
        job(lab, "", **source)


def test_a_broker_that_does_not_answer_is_named_in_time(lab: Lab) -> None:
    error, seconds = refusal(lab, "any", **{"bootstrap-servers": "127.0.0.1:1"})
    assert isinstance(error, NotReachableError)
    assert "127.0.0.1:1" in error.what
    assert seconds < 15


def test_a_client_property_that_is_wrong_is_named(lab: Lab, topic: str) -> None:
    error, _ = refusal(lab, topic, properties={"fetch.min.bytes": "many"})
    assert isinstance(error, PreflightError)
    assert "fetch.min.bytes" in error.why


def test_a_client_that_cannot_log_in_is_refused(lab: Lab, topic: str) -> None:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    error, _ = refusal(lab, topic, properties=login)
    assert isinstance(error, PreflightError)
    assert "JAAS" in error.why
