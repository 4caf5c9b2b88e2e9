from __future__ import annotations

import json

import pytest

from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.source.topic_facts import (
    KafkaFacts,
    PartitionFacts,
    TopicChange,
    TopicFacts,
    disown_group_offsets,
    find_topic_change,
    parse_facts,
)

ANSWER = {
    "existing": ["orders", "other"],
    "topics": {
        "orders": {
            "id": "Zm9v",
            "partitions": {"1": {"earliest": 0, "latest": 7, "group": 3}, "0": {"earliest": 2, "latest": 9}},
        }
    },
}


def test_facts_are_in_order():
    facts = parse_facts(json.dumps(ANSWER), "broker:9092")
    assert list(facts.partitions()) == [
        ("orders", 0, PartitionFacts(earliest=2, latest=9)),
        ("orders", 1, PartitionFacts(earliest=0, latest=7, group=3)),
    ]
    assert facts.topics["orders"].topic_id == "Zm9v"


@pytest.mark.parametrize(
    ("kind", "error", "exit_code"),
    [
        ("unreachable", NotReachableError, 3),
        ("forbidden", PreflightError, 2),
        ("unauthenticated", PreflightError, 2),
        ("properties", PreflightError, 2),
    ],
)
def test_an_error_says_where_and_how_to_mend_it(kind: str, error: type[MilepostError], exit_code: int):
    with pytest.raises(error) as raised:
        parse_facts(json.dumps({"error": {"kind": kind, "message": "because"}}), "broker:9092")
    assert raised.value.exit_code == exit_code
    assert raised.value.why == "because"
    assert raised.value.fix


def test_the_group_s_offset_may_say_which_topic_it_belongs_to():
    topic = {
        "id": "Zm9v",
        "partitions": {"0": {"earliest": 0, "latest": 7, "group": 3, "group-topic-id": "YmFy"}},
    }
    facts = parse_facts(json.dumps({"existing": ["orders"], "topics": {"orders": topic}}), "h:1")
    assert facts.topics["orders"].partitions[0].group_topic_id == "YmFy"


@pytest.mark.parametrize(
    ("owner", "recorded", "is_believed"),
    [
        (None, {}, True),  # another tool's, in a topic of which nothing is recorded
        (None, {"t": "now"}, True),
        (None, {"t": "before"}, False),
        (None, {"u": "before"}, True),
        ("now", {}, True),
        ("now", {"t": "before"}, True),  # another job has read the new topic
        ("before", {}, False),
        ("before", {"t": "now"}, False),
    ],
)
def test_group_offsets_of_deleted_topics_are_not_believed(
    owner: str | None, recorded: dict[str, str], is_believed: bool
):
    partition = PartitionFacts(earliest=0, latest=9, group=5, group_topic_id=owner)
    without = PartitionFacts(earliest=0, latest=9)
    known = KafkaFacts({"t": TopicFacts("now", {0: partition, 1: without})}, frozenset({"t"}))
    found = disown_group_offsets(known, recorded).topics["t"].partitions
    assert (found[0].group, found[0].group_of_deleted) == ((5, None) if is_believed else (None, 5))
    assert (found[1].group, found[1].group_of_deleted) == (None, None)


@pytest.mark.parametrize(
    ("now", "change", "text"),
    [
        ({"a": "1", "b": "2", "new": "3"}, None, "None"),
        ({"a": "1"}, TopicChange("b", "2", None), "topic b was deleted"),
        (
            {"a": "9", "b": "2"},
            TopicChange("a", "1", "9"),
            "topic a was deleted and created again: its id is 9 and was 1",
        ),
    ],
)
def test_a_topic_that_was_created_again_is_named(
    now: dict[str, str], change: TopicChange | None, text: str
) -> None:
    found = find_topic_change({"a": "1", "b": "2"}, now)
    assert (found, str(found)) == (change, text)
