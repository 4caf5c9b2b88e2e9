"""Checkpoint, group and broker side by side; the broker's answers are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.inspect.left_behind import completed

from milepost.config import Config
from milepost.inspect import offsets
from milepost.inspect.broker import Broker, BrokerTopic, GroupOffset, Peek
from milepost.inspect.retention import Policy, Standing
from milepost.source.positions import Partition

HOUR = 3_600_000


class Answers:
    """Says what a broker would."""

    def __init__(self, facts: dict[str, BrokerTopic], groups: dict[Partition, GroupOffset]) -> None:
        self._facts, self._groups = facts, groups
        self.peeked: dict[Partition, int] = {}

    def partitions(self, _topics: Sequence[str], _pattern: str | None = None) -> dict[str, list[int]]:
        return {topic: list(facts.ends) for topic, facts in self._facts.items()}

    def facts(self, partitions: Mapping[str, Sequence[int]]) -> dict[str, BrokerTopic]:
        return {topic: self._facts[topic] for topic in partitions}

    def committed(self, _group: str, partitions: Sequence[Partition]) -> dict[Partition, GroupOffset]:
        return {place: self._groups[place] for place in partitions if place in self._groups}

    def peek(self, positions: dict[Partition, int]) -> dict[Partition, Peek]:
        self.peeked = positions
        return {place: Peek(0, 100.0) for place in positions}


def config() -> Config:
    return Config(
        name="orders",
        source={"kafka": {"bootstrap-servers": "h:1", "topics": ["orders"], "group-id": "g"}},
        sink={"console": {}},
        checkpointing={"dir": "/tmp/none"},
    )


def compared(
    monkeypatch: pytest.MonkeyPatch,
    ends: dict[int, tuple[int, int]] | None,
    topic_id: str = "qX4",
    owner: str | None = None,
) -> tuple[list[offsets.PartitionOffsets], Answers]:
    policy = Policy(retention_ms=24 * HOUR)
    facts = {} if ends is None else {"orders": BrokerTopic(topic_id=topic_id, policy=policy, ends=ends)}
    answers = Answers(facts, {("orders", 0): GroupOffset(8, owner), ("orders", 1): GroupOffset(12, owner)})
    monkeypatch.setattr(Broker, "of_source", lambda _source, _timeout: answers)
    return offsets.compare(config(), completed(0), timeout=1, now_ms=HOUR), answers


def test_every_partition_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found, answers = compared(monkeypatch, {0: (0, 15), 1: (3, 9), 2: (0, 4)})
    assert [(e.partition, e.checkpoint, e.group, e.drift, e.lag) for e in found] == [
        (0, 10, 8, -2, 5),
        (1, 9, 12, 3, 0),
        (2, None, None, None, 4),
    ]
    assert [e.verdict.standing.name for e in found] == ["RESTORABLE", "CAUGHT_UP", "RESTORABLE"]
    assert [e.verdict.left_ms for e in found] == [23 * HOUR, 24 * HOUR, None]
    # Only where there is something to read.
    assert answers.peeked == {("orders", 0): 10}
    assert not any(each.verdict.is_lost for each in found)


@pytest.mark.parametrize(
    ("ends", "topic_id", "note"),
    [
        (None, "qX4", "the topic does not exist"),
        ({0: (0, 15)}, "qX4", "the partition does not exist"),
        ({0: (0, 15), 1: (0, 15)}, "other", "the topic was created again"),
        ({0: (0, 15), 1: (12, 15)}, "qX4", "3 offsets after it were deleted"),
    ],
)
def test_what_cannot_be_restored_says_why(
    monkeypatch: pytest.MonkeyPatch, ends: dict[int, tuple[int, int]] | None, topic_id: str, note: str
) -> None:
    found, _ = compared(monkeypatch, ends, topic_id)
    assert [each for each in found if each.verdict.is_lost][-1].verdict.note == note


@pytest.mark.parametrize(
    ("topic_id", "owner", "is_stale", "drift"),
    [
        ("qX4", None, (False, False), -2),
        ("qX4", "qX4", (False, False), -2),
        ("qX4", "older", (False, True), None),
        (
            "new",
            None,
            (True, True),
            None,
        ),  # as a fresh start sees it: this job's offsets were of another topic
        ("new", "qX4", (True, True), None),
        ("new", "new", (True, False), None),
    ],
)
def test_offsets_of_deleted_topics_are_not_compared(
    monkeypatch: pytest.MonkeyPatch,
    topic_id: str,
    owner: str | None,
    is_stale: tuple[bool, bool],
    drift: int | None,
) -> None:
    found, _ = compared(monkeypatch, {0: (0, 15), 2: (0, 4)}, topic_id, owner)
    assert (found[0].stale.checkpoint, found[0].stale.group) == is_stale
    assert (found[0].group, found[0].drift) == (8, drift)
    assert found[2].stale.group is False, "the group has no offset there"


def test_a_directory_alone_knows_the_checkpoint() -> None:
    found = offsets.of_checkpoint(completed(0))
    assert [(e.topic, e.partition, e.checkpoint, e.lag, e.drift) for e in found] == [
        ("orders", 0, 10, None, None),
        ("orders", 1, 9, None, None),
    ]
    assert found[0].verdict.standing is Standing.UNKNOWN
