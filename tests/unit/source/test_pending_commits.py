from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from milepost.source.pending_commits import (
    MAX_PENDING,
    Boundary,
    CommitMode,
    Comparison,
    Ledger,
    PendingOffsets,
    Schedule,
    TopicIds,
    compare,
    select_owned,
)
from milepost.source.positions import Partition, Positions

A, B, C = ("t", 0), ("t", 1), ("u", 0)
AT_5 = {A: 5, B: 5}
AT_9 = {A: 9, B: 5}


# ---- the pending map ----


def pending(*ids: int) -> PendingOffsets:
    result = PendingOffsets()
    for each in ids:
        result = result.remember(each, Boundary({A: each}))
    return result


@pytest.mark.parametrize(
    ("remembered", "completed", "taken", "left"),
    [
        ((), 1, None, []),  # unknown: nothing at all is known
        ((1,), 1, {A: 1}, []),
        ((1, 2, 3), 2, {A: 2}, [3]),  # drops everything older, keeps what is newer
        ((3, 1, 2), 2, {A: 2}, [3]),  # older by id, whatever the order of remembering
        ((1, 3), 2, None, [1, 3]),  # an unknown id changes nothing
        ((5,), 4, None, [5]),  # older than all
    ],
)
def test_take(remembered: tuple[int, ...], completed: int, taken: Positions | None, left: list[int]):
    rest, boundary = pending(*remembered).take(completed)
    assert boundary == (None if taken is None else Boundary(taken))
    assert sorted(rest.by_id) == left


def test_empty_offsets_are_not_the_same_as_an_unknown_id():
    _, boundary = PendingOffsets().remember(1, Boundary({})).take(1)
    assert boundary == Boundary({})


def test_the_map_is_bounded_and_the_oldest_goes_first():
    kept = pending(*range(MAX_PENDING + 3)).by_id
    assert len(kept) == MAX_PENDING
    assert min(kept) == 3


def test_a_replayed_checkpoint_replaces_its_former_offsets():
    _, boundary = pending(4).remember(4, Boundary({A: 40}, {"t": "qX4"})).take(4)
    assert boundary == Boundary({A: 40}, {"t": "qX4"})


def test_an_aborted_checkpoint_is_forgotten():
    assert sorted(pending(1, 2).forget(2).by_id) == [1]
    assert sorted(pending(1).forget(7).by_id) == [1]


# ---- what may be written ----


@pytest.mark.parametrize(
    ("group", "commit", "ahead"),
    [
        ({A: None}, {A: 5}, {}),  # the group has no offset
        ({A: 0}, {A: 5}, {}),  # behind
        ({A: 5}, {A: 5}, {}),  # level: told again, so that it does not expire
        ({A: 6}, {}, {A: 6}),  # ahead: never back
        ({A: 6, B: 4}, {B: 5}, {A: 6}),  # each partition for itself
        ({B: 4}, {B: 5}, {}),  # not read, so not decided about
        ({}, {}, {}),
    ],
)
def test_compare(group: Mapping[Partition, int | None], commit: Positions, ahead: Positions):
    assert compare(AT_5, group) == Comparison(commit, ahead)


@pytest.mark.parametrize(
    ("owners", "topic_ids", "disowned", "found"),
    [
        ({}, {"t": "now"}, {}, 7),
        ({A: "now"}, {"t": "now"}, {}, 7),
        ({A: "before"}, {"t": "now"}, {}, None),
        ({A: "before"}, {}, {}, 7),  # which topic it should be is not known
        ({}, {"t": "now"}, {A: 7}, None),
        ({}, {"t": "now"}, {A: 6}, 7),  # it was moved since
        ({A: "now"}, {"t": "now"}, {A: 7}, 7),
    ],
)
def test_where_the_group_stands_in_a_topic(
    owners: Mapping[Partition, str], topic_ids: TopicIds, disowned: Positions, found: int | None
):
    assert select_owned({A: 7}, owners, topic_ids=topic_ids, disowned=disowned) == {A: found}


# ---- when ----


@pytest.mark.parametrize(
    ("mode", "completed_at", "at"),
    [
        (CommitMode.ON_CHECKPOINTS, 12.0, 12.0),
        (CommitMode.KAFKA_PERIODIC, 12.0, 15.0),
        (CommitMode.KAFKA_PERIODIC, 14.9, 15.0),
        (CommitMode.KAFKA_PERIODIC, 15.0, 20.0),
    ],
)
def test_when_a_completed_checkpoint_is_committed(mode: CommitMode, completed_at: float, at: float):
    assert Schedule(mode=mode, commit_interval=5.0).commit_at(completed_at) == at


@pytest.mark.parametrize(("failures", "delay"), [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (10_000, 30)])
def test_back_off_doubles_up_to_a_limit(failures: int, delay: float):
    assert Schedule().retry_at(failures, 100.0) == 100.0 + delay


def test_words_of_the_configuration():
    assert [mode.value for mode in CommitMode] == ["on-checkpoints", "periodic", "disabled"]


# ---- the ledger ----

NONE: frozenset[Partition] = frozenset()


def ledger(mode: CommitMode = CommitMode.ON_CHECKPOINTS) -> Ledger:
    return Ledger(schedule=Schedule(mode=mode, commit_interval=5.0, recommit_after=600.0))


def tried(
    before: Ledger, now: float, failed: frozenset[Partition] = NONE, ahead: Positions | None = None
) -> tuple[Ledger, Positions]:
    """Take what is due and settle it at the same moment."""
    taken, due = before.take_due(now)
    return taken.settle(due, failed=failed, ahead=ahead or {}, now=now), due


def test_nothing_is_due_before_the_first_checkpoint():
    assert ledger().next_due() == math.inf
    assert ledger().take_due(1e9)[1] == {}
    assert ledger().take_all()[1] == {}


def test_a_completed_checkpoint_is_due_at_once_with_all_its_partitions():
    after, due = tried(ledger().complete(AT_5, 100.0), 100.0)
    assert due == AT_5
    assert after.committed == AT_5
    assert after.next_due() == 700.0


def test_every_checkpoint_commits_its_idle_partitions_too():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0)
    assert tried(after.complete(AT_9, 110.0), 110.0)[1] == AT_9


def test_a_newer_one_replaces_a_waiting_one():
    assert tried(ledger().complete(AT_5, 100.0).complete(AT_9, 101.0), 101.0)[1] == AT_9


def test_one_that_completes_while_another_is_in_flight_is_due_after_it():
    in_flight, due = ledger().complete(AT_5, 100.0).take_due(100.0)
    settled = in_flight.complete(AT_9, 101.0).settle(due, failed=NONE, ahead={}, now=102.0)
    assert settled.committed == AT_5
    assert settled.next_due() <= 102.0
    assert tried(settled, 102.0)[1] == AT_9


def test_without_checkpoints_all_is_committed_again_after_a_while_and_again():
    now_and_then, _ = tried(ledger().complete(AT_5, 100.0), 100.0)
    for at in (700.0, 1300.0):
        assert now_and_then.take_due(at - 0.1)[1] == {}
        now_and_then, due = tried(now_and_then, at)
        assert due == AT_5


def test_a_failed_partition_is_tried_again_by_itself_later_and_later():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, failed=frozenset({B}))
    assert after.committed == {A: 5}
    for at, then in ((101.0, 103.0), (103.0, 107.0)):
        assert after.next_due() == at
        assert after.take_due(at - 0.1)[1] == {}
        after, due = tried(after, at, failed=frozenset({B}))
        assert due == {B: 5}
        assert after.next_due() == then
    settled, _ = tried(after, 107.0)
    assert settled.committed == AT_5
    assert settled.retries == {}


def test_a_partition_that_waits_for_its_next_try_does_not_hold_the_others_up():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, failed=frozenset({B}))
    after, due = tried(after.complete(AT_9, 100.5), 100.5)
    assert due == {A: 9}
    assert tried(after, 101.0)[1] == {B: 5}


def test_failures_in_a_row_are_counted_over_checkpoints_and_forgotten_after_a_success():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, failed=frozenset({A, B}))
    after, _ = tried(after.complete(AT_9, 101.0), 101.0, failed=frozenset({A}))
    assert {each: retry.failures for each, retry in after.retries.items()} == {A: 2}
    after, _ = tried(after, 103.0)
    after, _ = tried(after.complete({A: 10, B: 5}, 104.0), 104.0, failed=frozenset({A}))
    assert after.retries[A].failures == 1


def test_a_group_that_is_ahead_is_not_tried_again_before_the_next_checkpoint():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, ahead={A: 8})
    assert after.ahead == {A: 8}
    assert after.committed == {A: 8, B: 5}
    assert after.next_due() == 700.0
    assert tried(after.complete({A: 6, B: 5}, 110.0), 110.0)[1] == {A: 6, B: 5}


@pytest.mark.parametrize(
    ("now_at", "drift"),
    [({A: 7, B: 5}, {A: 8}), ({A: 8, B: 5}, {}), ({A: 9, B: 5}, {}), ({B: 5}, {})],
    ids=["still behind it", "level", "passed it", "no longer read"],
)
def test_drift_ends_when_the_job_has_passed_the_group(now_at: Positions, drift: Positions):
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, ahead={A: 8})
    assert after.complete(now_at, 110.0).ahead == drift


def test_drift_is_not_over_because_the_group_cannot_be_read():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, ahead={A: 8})
    after, _ = tried(after.complete(AT_5, 110.0), 110.0, failed=frozenset({A, B}))
    assert after.ahead == {A: 8}


def test_a_topic_that_is_no_longer_read_is_no_longer_tried():
    after, _ = tried(ledger().complete({A: 5, C: 5}, 100.0), 100.0, failed=frozenset({C}))
    after = after.complete({A: 6}, 100.5)
    assert after.retries == {}
    assert tried(after, 200.0)[1] == {A: 6}


def test_what_failed_of_a_checkpoint_that_was_replaced_meanwhile_leaves_no_trace():
    in_flight, due = ledger().complete({C: 5}, 100.0).take_due(100.0)
    settled = in_flight.complete({A: 6}, 100.5).settle(due, failed=frozenset({C}), ahead={}, now=101.0)
    assert settled.retries == {}
    settled = in_flight.complete({A: 6}, 100.5).settle(due, failed=NONE, ahead={C: 9}, now=101.0)
    assert settled.ahead == {}


def test_the_last_try_takes_all_that_is_not_committed_due_or_not():
    after, _ = tried(ledger().complete(AT_5, 100.0), 100.0, failed=frozenset({B}))
    assert after.take_due(100.1)[1] == {}
    assert after.take_all()[1] == {B: 5}


def test_periodic_waits_for_its_tick_and_then_commits_the_newest_only():
    waiting = ledger(CommitMode.KAFKA_PERIODIC).complete(AT_5, 101.0).complete(AT_9, 103.0)
    assert waiting.next_due() == 105.0
    assert waiting.take_due(104.9)[1] == {}
    after, due = tried(waiting, 105.2)
    assert due == AT_9
    assert after.complete({A: 10, B: 5}, 106.0).next_due() == 110.0


def test_periodic_keeps_its_tick_when_checkpoints_complete_faster_than_it_is_reached():
    waiting = ledger(CommitMode.KAFKA_PERIODIC).complete(AT_5, 104.0).complete(AT_9, 105.5)
    assert tried(waiting, 105.5)[1] == AT_9


def test_periodic_commits_what_waits_for_its_tick_at_the_end():
    assert ledger(CommitMode.KAFKA_PERIODIC).complete(AT_5, 101.0).take_all()[1] == AT_5


@pytest.mark.parametrize("mode", [CommitMode.ON_CHECKPOINTS, CommitMode.KAFKA_PERIODIC])
def test_the_checkpoint_of_the_start_is_compared_at_once(mode: CommitMode):
    assert tried(ledger(mode).restart(AT_5, 101.0), 101.0)[1] == AT_5


# ---- a topic that is gone ----


def test_what_is_dropped_is_never_due_again():
    after, due = ledger().complete(AT_5, 100.0, {"t": "old"}).take_due(100.0)
    assert after.topic_ids == {"t": "old"}
    after = after.settle(due, failed=frozenset({A, B}), ahead={}, now=100.0).drop(frozenset({A, B}))
    assert (after.target, after.retries, after.committed) == ({}, {}, {})
    assert after.take_all()[1] == {}
    for at in (101.0, 700.0, 1300.0):
        after, due = tried(after, at)
        assert due == {}
        assert after.dropped == {A, B}


def test_a_drop_leaves_the_other_partitions():
    after, due = ledger().complete(AT_5, 100.0).take_due(100.0)
    after = after.settle(due, failed=frozenset({A, B}), ahead={}, now=100.0).drop(frozenset({A}))
    assert tried(after, 101.0)[1] == {B: 5}


def test_a_newer_checkpoint_that_came_meanwhile_is_tried_for_itself():
    in_flight, due = ledger().complete(AT_5, 100.0).take_due(100.0)
    newer = in_flight.complete(AT_9, 101.0)
    after = newer.settle(due, failed=frozenset({A, B}), ahead={}, now=102.0).drop(frozenset({A, B}))
    after, due = tried(after, 110.0)
    assert due == AT_9
    assert after.dropped == frozenset(), "it could be committed after all"


def test_what_is_no_longer_read_is_no_longer_dropped():
    after, due = ledger().complete(AT_5, 100.0).take_due(100.0)
    after = after.settle(due, failed=frozenset({A, B}), ahead={}, now=100.0).drop(frozenset({A, B}))
    assert after.complete({B: 6}, 110.0).dropped == {B}
    assert after.restart({B: 6}, 110.0).dropped == {B}
