"""Where each partition begins: the rules as tables."""

from __future__ import annotations

import pytest

from milepost.errors import PreflightError
from milepost.source import start_offsets
from milepost.source.topic_facts import KafkaFacts, PartitionFacts, TopicFacts


def facts(**partitions: PartitionFacts) -> KafkaFacts:
    topic = TopicFacts("id", {int(name[1:]): known for name, known in partitions.items()})
    return KafkaFacts({"t": topic}, frozenset({"t", "orders"}))


ONE = facts(p0=PartitionFacts(earliest=10, latest=20))


@pytest.mark.parametrize(
    ("rule", "known", "offset", "reason"),
    [
        (start_offsets.earliest, PartitionFacts(earliest=10, latest=20), 10, "earliest"),
        (start_offsets.latest, PartitionFacts(earliest=10, latest=20), 20, "latest"),
        (start_offsets.timestamp, PartitionFacts(earliest=10, latest=20, at_timestamp=15), 15, "timestamp"),
        (
            start_offsets.timestamp,
            PartitionFacts(earliest=10, latest=20),
            20,
            "latest: no record is at or after",
        ),
        (
            start_offsets.group_offsets(start_offsets.latest),
            PartitionFacts(earliest=10, latest=20, group=12),
            12,
            "group offset",
        ),
        (
            start_offsets.group_offsets(start_offsets.earliest),
            PartitionFacts(earliest=10, latest=20),
            10,
            "earliest: the group",
        ),
        (
            start_offsets.group_offsets(start_offsets.latest),
            PartitionFacts(earliest=10, latest=20),
            20,
            "latest: the group",
        ),
        (start_offsets.specific({"t": {0: 11}}), PartitionFacts(earliest=10, latest=20), 11, "given offset"),
        (start_offsets.specific({"t": {0: 20}}), PartitionFacts(earliest=10, latest=20), 20, "given offset"),
    ],
)
def test_rule(rule: start_offsets.Rule, known: PartitionFacts, offset: int, reason: str):
    (planned,) = start_offsets.fresh_start(rule, facts(p0=known), None).partitions
    assert planned.offset == offset
    assert planned.reason.startswith(reason)


@pytest.mark.parametrize(
    ("rule", "known", "fault"),
    [
        (
            start_offsets.group_offsets(start_offsets.nowhere),
            PartitionFacts(earliest=0, latest=9),
            "start-fallback is none",
        ),
        (
            start_offsets.group_offsets(start_offsets.earliest),
            PartitionFacts(earliest=5, latest=9, group=4),
            "offset 4 no longer exists",
        ),
        (
            start_offsets.group_offsets(start_offsets.earliest),
            PartitionFacts(earliest=5, latest=9, group=10),
            "beyond the end 9",
        ),
        (start_offsets.specific({"t": {1: 3}}), PartitionFacts(earliest=0, latest=9), "has no offset"),
        (start_offsets.specific({"t": {0: 10}}), PartitionFacts(earliest=0, latest=9), "beyond the end 9"),
        (
            start_offsets.specific({"t": {0: 1}}),
            PartitionFacts(earliest=5, latest=9),
            "offset 1 no longer exists",
        ),
    ],
)
def test_rule_refuses(rule: start_offsets.Rule, known: PartitionFacts, fault: str):
    with pytest.raises(PreflightError, match=fault) as raised:
        start_offsets.fresh_start(rule, facts(p0=known), None)
    assert "t-0" in str(raised.value)


STALE = PartitionFacts(earliest=10, latest=20, group_of_deleted=15)


@pytest.mark.parametrize(("fallback", "offset"), [(start_offsets.earliest, 10), (start_offsets.latest, 20)])
def test_an_offset_of_a_deleted_topic_is_not_used(fallback: start_offsets.Rule, offset: int):
    plan = start_offsets.fresh_start(start_offsets.group_offsets(fallback), facts(p0=STALE), None)
    (planned,) = plan.partitions
    assert planned.offset == offset
    assert planned.reason.endswith(": the group's offset 15 belongs to a deleted topic of the same name")
    assert plan.disowned == {"t": {0: 15}}


def test_an_offset_of_a_deleted_topic_without_a_fallback_is_refused():
    sentence = (
        "t-0: the group's offset 15 belongs to a deleted topic of the same name, and start-fallback is none"
    )
    with pytest.raises(PreflightError, match=sentence):
        start_offsets.fresh_start(start_offsets.group_offsets(start_offsets.nowhere), facts(p0=STALE), None)


def test_a_group_beyond_the_end_says_what_to_do():
    known = facts(p0=PartitionFacts(earliest=0, latest=9, group=10))
    with pytest.raises(PreflightError, match="beyond the end 9; the topic was probably deleted") as raised:
        start_offsets.fresh_start(start_offsets.group_offsets(start_offsets.earliest), known, None)
    assert "--reset-offsets" in raised.value.fix


def test_every_partition_that_cannot_start_is_named():
    known = PartitionFacts(earliest=0, latest=9)
    with pytest.raises(PreflightError) as raised:
        start_offsets.fresh_start(start_offsets.specific({}), facts(p0=known, p1=known), None)
    assert "t-0" in str(raised.value)
    assert "t-1" in str(raised.value)


def test_resume_takes_the_checkpoint_and_new_partitions_from_their_beginning():
    known = facts(p0=PartitionFacts(earliest=0, latest=9), p1=PartitionFacts(earliest=0, latest=4))
    plan = start_offsets.resume(7, {"t": {0: 5}}, known, None)
    assert [(each.partition, each.offset, each.reason) for each in plan.partitions] == [
        (0, 5, "checkpoint 7"),
        (1, 0, "new since the checkpoint"),
    ]
    assert plan.resumed_from == 7
    assert plan.offsets() == {"t": {0: 5, 1: 0}}
    assert plan.partitions[0].backlog == 4


@pytest.mark.parametrize(
    ("offsets", "fault"),
    [
        ({"t": {0: 5}}, "offset 5 no longer exists: the oldest record is 10"),
        ({"t": {0: 21}}, "offset 21 is beyond the end 20"),
        ({"t": {0: 15, 1: 3}}, "t-1: the checkpoint has read it, but it no longer exists"),
        ({"gone": {0: 1}}, "gone-0"),
    ],
)
def test_resume_refuses_what_the_broker_no_longer_has(offsets: dict[str, dict[int, int]], fault: str):
    with pytest.raises(PreflightError, match=fault):
        start_offsets.resume(7, offsets, ONE, None)


def test_a_topic_that_was_created_again_is_refused():
    start_offsets.require_same_topics({}, ONE)
    start_offsets.require_same_topics({"t": "id"}, ONE)
    with pytest.raises(PreflightError, match="TOPIC_RECREATED"):
        start_offsets.require_same_topics({"t": "another id"}, ONE)


def test_a_topic_that_was_deleted_is_refused_by_its_name():
    with pytest.raises(
        PreflightError, match="Topic 'gone' was deleted since the checkpoint was taken"
    ) as raised:
        start_offsets.require_same_topics({"t": "id", "gone": "x"}, ONE)
    assert "--fresh" in raised.value.fix


def test_a_missing_topic_is_refused_with_the_nearest_name():
    with pytest.raises(PreflightError, match="Did you mean 'orders'") as raised:
        start_offsets.require_topics(["oders"], None, ONE)
    assert raised.value.exit_code == 2


def test_a_pattern_that_matches_nothing_is_refused():
    with pytest.raises(PreflightError, match="No topic matches"):
        start_offsets.require_topics([], "x.*", KafkaFacts({}, frozenset({"__consumer_offsets"})))


def test_offsets_of_unknown_partitions_are_refused():
    with pytest.raises(PreflightError, match="t-3"):
        start_offsets.require_known({"t": {0: 1, 3: 1}}, ONE, "source.kafka.start.offsets")


def test_stops():
    known = facts(
        p0=PartitionFacts(earliest=0, latest=9, at_stop_timestamp=4), p1=PartitionFacts(earliest=0, latest=3)
    )
    assert start_offsets.stop_at_latest(known) == {"t": {0: 9, 1: 3}}
    assert start_offsets.stop_at_timestamp(known) == {"t": {0: 4, 1: 3}}


def test_a_dead_letter_topic_must_exist():
    known = KafkaFacts({}, frozenset({"orders", "orders-dead"}))
    start_offsets.require_dead_letter_topic("orders-dead", known)
    with pytest.raises(PreflightError, match=r"'orders-daed' does not exist.*Did you mean 'orders-dead'"):
        start_offsets.require_dead_letter_topic("orders-daed", known)


def test_topics_that_are_closed_to_this_client_are_refused():
    closed = KafkaFacts({"t": TopicFacts("id", {}, readable=False)}, frozenset({"t", "dead"}), False)
    with pytest.raises(PreflightError, match="not allowed to read topic 't'"):
        start_offsets.require_topics(["t"], None, closed)
    with pytest.raises(PreflightError, match="not allowed to write the dead-letter topic 'dead'"):
        start_offsets.require_dead_letter_topic("dead", closed)
