from __future__ import annotations

import pytest

from milepost.source.offset_owner import topic_id

OURS = '{"milepost":{"cluster-id":"c1","topic-id":"qX4"}}'


def test_an_offset_says_which_topic_it_belongs_to():
    assert topic_id(OURS, "c1") == "qX4"
    assert topic_id('{"milepost":{"cluster-id":null,"topic-id":"qX4"}}', None) == "qX4"


@pytest.mark.parametrize("rest", ["\0", "Q", "1\x02", "}}", " "])
def test_what_follows_the_text_is_ignored(rest: str):
    assert topic_id(OURS + rest, "c1") == "qX4"


def test_metadata_that_was_mirrored_from_another_cluster_says_nothing():
    assert topic_id(OURS, "c2") is None
    assert topic_id(OURS, None) is None


@pytest.mark.parametrize(
    "metadata",
    [None, "", " ", "flink", "{}", "[1]", "7", '{"milepost":7}', '{"milepost":{"topic-id":7}}', "[" * 9999],
)
def test_metadata_of_other_tools_says_nothing(metadata: str | None):
    assert topic_id(metadata, None) is None
