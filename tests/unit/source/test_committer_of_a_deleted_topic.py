"""Offsets of a topic that is gone: dropped, never committed to another topic of the same name."""

from __future__ import annotations

import pytest
from tests.unit.source.bench import BUSY, GONE, PATIENCE_S, RECREATED, A, B, Bench, until

from milepost.source.group import Failure


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("failure", [GONE, RECREATED], ids=["deleted", "created again"])
def test_offsets_of_a_topic_that_is_gone_are_dropped(bench: Bench, failure: Failure):
    bench.group.failing = {A: failure, B: failure}
    bench.complete(1, 5, 5, topic_id="old")
    assert bench.turn() == [{A: 5, B: 5}]
    assert bench.group.topic_ids == {"t": "old"}
    assert bench.counts == (0, 1)
    assert failure.kind.why in bench.said[0]
    assert "They are dropped" in bench.said[0]
    assert "tried again" not in bench.said[0]
    bench.group.failing = {}  # the name is there again
    assert bench.turn(5.0) == []
    assert bench.turn(600.0) == []
    assert len(bench.said) == 1
    assert bench.committer.stats().last_error == bench.said[0]
    assert bench.committer.stats().committed == {}


def test_what_was_dropped_is_not_part_of_the_last_try():
    bench = Bench()
    bench.group.failing = {A: GONE, B: BUSY}
    bench.committer.start()
    bench.complete(1, 5, 5, topic_id="old")
    until(lambda: bench.counts == (0, 1))
    bench.group.failing = {}
    bench.committer.close(PATIENCE_S)
    assert bench.group.commits[1:] == [{B: 5}]


def test_a_dropped_partition_does_not_hold_the_others_up(bench: Bench):
    bench.group.failing = {B: GONE}
    for each in range(1, 5):
        bench.complete(each, each, each)
        bench.turn(1.0)
    assert bench.group.offsets == {A: 4}
    assert len(bench.said) == 1, "nothing is said to be well while a partition is dropped"
    bench.group.failing = {}
    bench.complete(5, 5, 5)
    assert bench.turn() == [{A: 5, B: 5}]
    assert bench.said[1:] == ["Offsets are committed to group 'g' again."]


def test_an_offset_of_another_topic_is_replaced_although_it_is_higher(bench: Bench):
    bench.group.offsets = {A: 50, B: 50}
    bench.group.owners = {A: "old", B: "new"}
    bench.complete(1, 5, 5, topic_id="new")
    assert bench.turn() == [{A: 5}]
    assert bench.committer.stats().drift == {"t": {1: 45}}


def test_an_offset_that_the_start_has_disowned_is_replaced(bench: Bench):
    bench.group.offsets = {A: 50, B: 51}
    bench.committer.disown({"t": {0: 50, 1: 50}})  # somebody has moved the second one since
    bench.complete(1, 5, 5)
    assert bench.turn() == [{A: 5}]
    assert bench.committer.stats().drift == {"t": {1: 46}}


def test_a_restart_carries_the_topics_of_its_checkpoint(bench: Bench):
    bench.committer.reconcile({"t": {0: 5}}, {"t": "old"})
    assert bench.turn() == [{A: 5}]
    assert bench.group.topic_ids == {"t": "old"}
    bench.turn(600.0)
    assert bench.group.topic_ids == {"t": "old"}
