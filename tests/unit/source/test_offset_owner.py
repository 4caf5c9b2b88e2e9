from __future__ import annotations

import pytest

from milepost.source.offset_owner import is_of_deleted_topic, parse_owner

OURS = '{"milepost":{"cluster-id":"c1","topic-id":"qX4"}}'


def test_an_offset_says_which_topic_it_belongs_to():
    assert parse_owner(OURS, "c1") == "qX4"
    assert parse_owner('{"milepost":{"cluster-id":null,"topic-id":"qX4"}}', None) == "qX4"


@pytest.mark.parametrize("rest", ["\0", "Q", "1\x02", "}}", " "])
def test_what_follows_the_text_is_ignored(rest: str):
    assert parse_owner(OURS + rest, "c1") == "qX4"


def test_metadata_that_was_mirrored_from_another_cluster_says_nothing():
    assert parse_owner(OURS, "c2") is None
    assert parse_owner(OURS, None) is None


@pytest.mark.parametrize(
    "metadata",
    [None, "", " ", "flink", "{}", "[1]", "7", '{"milepost":7}', '{"milepost":{"topic-id":7}}', "[" * 9999],
)
def test_metadata_of_other_tools_says_nothing(metadata: str | None):
    assert parse_owner(metadata, None) is None


@pytest.mark.parametrize(
    ("owner", "recorded", "expected"),
    [
        ("now", "before", False),
        ("before", "now", True),
        (None, "before", True),
        (None, "now", False),
        (None, None, False),
    ],
)
def test_the_metadata_of_an_offset_counts_more_than_what_the_job_recorded(
    owner: str | None, recorded: str | None, expected: bool
) -> None:
    assert is_of_deleted_topic(owner, recorded, "now") is expected
