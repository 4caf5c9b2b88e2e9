"""Every sentence of the mission on pendingOffsetsToCommit and on commit failure, one test each.

Most tests take the thread's turns by hand, on a clock that stands still; those of the thread itself wait for events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from tests.unit.source.bench import BUSY, CLOSED, PATIENCE_S, A, B, Bench, Group, until

from milepost.source.committer import OffsetCommitter
from milepost.source.pending_commits import (
    CommitMode,
    Schedule,
)
from milepost.source.positions import Partition, Positions


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ---- pendingOffsetsToCommit ----


def test_nothing_is_committed_before_the_checkpoint_completes(bench: Bench):
    bench.committer.remember(1, {"t": {0: 5}})
    assert bench.turn() == []
    assert bench.group.reads == 0
    bench.committer.notify_checkpoint_complete(1)
    assert bench.turn() == [{A: 5}]


def test_the_committed_value_is_next_to_read_as_in_the_checkpoint(bench: Bench):
    bench.complete(1, 5, 0)
    assert bench.turn() == [{A: 5, B: 0}]
    assert bench.committer.stats().committed == {"t": {0: 5, 1: 0}}


def test_an_unknown_id_is_warned_about_and_ignored(bench: Bench):
    bench.committer.notify_checkpoint_complete(7)
    assert bench.turn() == []
    assert len(bench.said) == 1
    assert "Checkpoint 7 completed" in bench.said[0]


def test_committing_drops_everything_older(bench: Bench):
    bench.committer.remember(1, {"t": {0: 1}})
    bench.complete(2, 2)
    bench.turn()
    bench.committer.notify_checkpoint_complete(1)
    assert bench.turn() == []
    assert "Checkpoint 1" in bench.said[-1]


def test_what_is_newer_waits_for_its_own_completion(bench: Bench):
    bench.committer.remember(2, {"t": {0: 2}})
    bench.complete(1, 1)
    assert bench.turn() == [{A: 1, B: 0}]
    bench.committer.notify_checkpoint_complete(2)
    assert bench.turn() == [{A: 2}]


def test_the_map_is_bounded(bench: Bench):
    for each in range(500):
        bench.committer.remember(each, {"t": {0: each}})
    bench.committer.notify_checkpoint_complete(399)
    assert bench.turn() == []
    bench.committer.notify_checkpoint_complete(400)
    assert bench.turn() == [{A: 400}]


@pytest.mark.parametrize("offsets", [{}, {"t": {}}])
def test_an_empty_map_is_skipped(bench: Bench, offsets: dict[str, dict[int, int]]):
    bench.committer.remember(1, offsets)
    bench.committer.notify_checkpoint_complete(1)
    bench.committer.reconcile(offsets)
    assert bench.turn() == []
    assert (bench.group.reads, bench.said) == (0, [])


def test_a_newer_one_replaces_a_waiting_one(bench: Bench):
    bench.complete(1, 1)
    bench.complete(2, 2)
    assert bench.turn() == [{A: 2, B: 0}]
    assert bench.turn() == []


def test_an_aborted_checkpoint_is_never_committed(bench: Bench):
    bench.committer.remember(1, {"t": {0: 9}})
    bench.committer.notify_checkpoint_aborted(1)
    bench.committer.notify_checkpoint_complete(1)
    assert bench.turn() == []


# ---- commit failure ----


def test_a_failed_commit_is_counted_warned_about_and_tried_again(bench: Bench):
    bench.group.failing = {A: BUSY, B: BUSY}
    bench.complete(1, 5)
    bench.turn()
    assert bench.counts == (0, 1)
    assert "'g' for t-0, t-1: the group has active members" in bench.said[0]
    assert "group-id" in bench.said[0]
    assert bench.committer.stats().last_error == bench.said[0]
    bench.group.failing = {}
    assert bench.turn(0.9) == []
    assert bench.turn(0.1) == [{A: 5, B: 0}]
    assert bench.counts == (1, 1)
    assert bench.said[1:] == ["Offsets are committed to group 'g' again."]
    assert bench.committer.stats().last_error is None


def test_one_partition_s_failure_does_not_stop_the_others(bench: Bench):
    bench.group.failing = {B: CLOSED}
    bench.complete(1, 5, 5)
    bench.turn()
    assert bench.group.offsets == {A: 5}
    bench.complete(2, 6, 6)
    assert bench.turn() == [{A: 6}]  # B waits for its next try
    assert bench.turn(1.0) == [{B: 6}]


def test_the_same_failure_is_warned_about_once(bench: Bench):
    bench.group.failing = {B: CLOSED}
    for each in range(1, 20):
        bench.complete(each, each, each)
        bench.turn(3.0)
    assert len(bench.said) == 1
    assert bench.committer.stats().last_error == bench.said[0]
    bench.group.failing = {A: BUSY, B: CLOSED}
    bench.complete(20, 20, 20)
    bench.turn()
    assert len(bench.said) == 2


@pytest.mark.parametrize("error", [ValueError("no JVM\nat line 2"), RuntimeError(), OSError("gone")])
def test_whatever_the_client_raises_is_a_failed_commit(bench: Bench, error: Exception):
    bench.group.raises = error
    bench.complete(1, 5)
    bench.turn()
    assert bench.counts == (0, 1)
    assert type(error).__name__ in bench.said[0]
    assert "\n" not in bench.said[0]
    bench.group.raises = None
    assert bench.turn(1.0) == [{A: 5, B: 0}]


def test_an_error_that_cannot_say_what_it_is_is_a_failed_commit(bench: Bench):
    class Mute(Exception):
        def __str__(self) -> str:
            raise OSError("the JVM has ended")

    bench.group.raises = Mute()
    bench.complete(1, 5)
    bench.turn()
    assert "(Mute)" in bench.said[0]


def test_what_kafka_says_is_redacted_where_it_is_told_and_where_it_is_kept():
    said: list[str] = []
    group = Group(raises=ValueError("password=hunter2"))
    committer = OffsetCommitter(
        group, Schedule(), notice=said.append, redact=lambda text: text.replace("hunter2", "***")
    )
    committer.reconcile({"t": {0: 5}})
    committer.turn()
    assert "password=***" in said[0]
    assert committer.stats().last_error == said[0]


def test_many_partitions_make_a_short_sentence(bench: Bench):
    bench.group.failing = {("t", each): BUSY for each in range(40)}
    bench.committer.remember(1, {"t": dict.fromkeys(range(40), 7)})
    bench.committer.notify_checkpoint_complete(1)
    bench.turn()
    assert "t-0, t-1, t-2, t-3, t-4 and 35 more:" in bench.said[0]


@pytest.mark.parametrize(
    ("group", "written", "drift"),
    [
        ({}, [{A: 5, B: 5}], {}),
        ({A: 4, B: 5}, [{A: 5, B: 5}], {}),
        ({A: 8}, [{B: 5}], {"t": {0: 3}}),
        ({A: 8, B: 6}, [], {"t": {0: 3, 1: 1}}),
    ],
    ids=["none", "behind and level", "ahead in one", "ahead in all"],
)
def test_the_group_never_goes_back(
    bench: Bench, group: dict[Partition, int], written: list[Positions], drift: Mapping[str, object]
):
    bench.group.offsets = dict(group)
    bench.complete(1, 5, 5)
    assert bench.turn() == written
    assert bench.committer.stats().drift == drift
    assert all(bench.group.offsets[each] >= offset for each, offset in group.items())
    assert bench.committer.stats().failed == 0
    assert bool(bench.said) == bool(drift)


def test_drift_is_an_alarm_once_and_ends_when_the_job_has_passed_the_group(bench: Bench):
    bench.group.offsets = {A: 8}
    for checkpoint_id, at in ((1, 5), (2, 6), (3, 7)):
        bench.complete(checkpoint_id, at)
        bench.turn()
    assert len(bench.said) == 1
    assert "'g' is ahead of the job's checkpoint in t-0: in t-0 the group is at 8" in bench.said[0]
    bench.complete(4, 9)
    assert bench.turn() == [{A: 9, B: 0}]
    assert bench.committer.stats().drift == {}
    assert bench.said[1:] == ["Group 'g' is no longer ahead of the job's checkpoint."]


def test_somebody_else_may_move_the_group_at_any_time(bench: Bench):
    bench.complete(1, 5)
    bench.turn()
    bench.group.offsets[A] = 50
    bench.complete(2, 6)
    assert bench.turn() == [{B: 0}]
    assert bench.committer.stats().committed == {"t": {0: 50, 1: 0}}


def test_idle_partitions_are_committed_again_at_every_checkpoint(bench: Bench):
    bench.complete(1, 5, 3)
    bench.turn()
    bench.complete(2, 6, 3)
    assert bench.turn() == [{A: 6, B: 3}]


def test_without_a_checkpoint_all_is_committed_again_after_a_while(bench: Bench):
    bench.complete(1, 5, 3)
    bench.turn()
    assert bench.turn(599.0) == []
    assert bench.turn(1.0) == [{A: 5, B: 3}]
    assert bench.turn(600.0) == [{A: 5, B: 3}]


def test_a_checkpoint_puts_the_idle_commit_off(bench: Bench):
    bench.complete(1, 5)
    bench.turn()
    bench.now += 500
    bench.complete(2, 6)
    bench.turn()
    assert bench.turn(599.0) == []


# ---- periodic ----


def test_periodic_commits_the_newest_completed_checkpoint_at_its_tick():
    bench = Bench(mode=CommitMode.KAFKA_PERIODIC, now=1001.0)
    bench.complete(1, 1)
    bench.complete(2, 2)
    bench.committer.remember(3, {"t": {0: 3}})  # never ahead: this one has not completed
    assert bench.turn(3.9) == []
    assert bench.turn(0.1) == [{A: 2, B: 0}]
    assert bench.turn(5.0) == []


# ---- start ----


@pytest.mark.parametrize("mode", [CommitMode.ON_CHECKPOINTS, CommitMode.KAFKA_PERIODIC])
def test_a_group_that_is_behind_the_restored_checkpoint_is_brought_up_at_start(mode: CommitMode):
    bench = Bench(mode=mode)
    bench.group.offsets = {A: 2}
    bench.committer.reconcile({"t": {0: 5, 1: 1}})
    assert bench.turn() == [{A: 5, B: 1}]


def test_a_group_that_is_ahead_of_the_restored_checkpoint_is_an_alarm_and_stays(bench: Bench):
    bench.group.offsets = {A: 8, B: 1}
    bench.committer.reconcile({"t": {0: 5, 1: 1}})
    assert bench.turn() == [{B: 1}]
    assert bench.group.offsets[A] == 8
    assert "ahead" in bench.said[0]


def test_what_was_remembered_before_a_restart_is_never_committed(bench: Bench):
    bench.committer.remember(6, {"t": {0: 60}})
    bench.committer.reconcile({"t": {0: 5}})
    bench.committer.notify_checkpoint_complete(6)
    assert bench.turn() == [{A: 5}]


# ---- the thread ----


@pytest.fixture
def running(bench: Bench) -> Iterator[Bench]:
    bench.committer.start()
    yield bench
    bench.group.may_go_on.set()
    bench.committer.close(PATIENCE_S)
    assert not bench.committer._thread.is_alive()


def entered(group: Group) -> None:
    assert group.entered.acquire(timeout=PATIENCE_S)


def test_a_completed_checkpoint_wakes_the_thread(running: Bench):
    running.complete(1, 5)
    entered(running.group)
    until(lambda: running.counts == (1, 0))


def test_nobody_waits_for_a_commit_and_at_most_one_is_in_flight(running: Bench):
    running.group.may_go_on.clear()
    running.complete(1, 1)
    entered(running.group)
    for each in range(2, 50):  # these return although the first commit hangs
        running.complete(each, each)
    assert running.group.commits == [{A: 1, B: 0}]
    running.group.may_go_on.set()
    entered(running.group)
    until(lambda: running.counts == (2, 0))
    assert running.group.commits == [{A: 1, B: 0}, {A: 49, B: 0}]


def test_a_failure_does_not_end_the_thread(running: Bench):
    running.group.raises = RuntimeError("gone")
    running.complete(1, 1)
    until(lambda: running.counts == (0, 1))
    running.group.raises = None
    running.now += 1.0
    running.complete(2, 2)
    until(lambda: running.counts == (1, 1))


def test_a_notice_that_raises_does_not_reach_the_checkpoint():
    def broken(_: str) -> None:
        raise BrokenPipeError

    group = Group()
    committer = OffsetCommitter(group, Schedule(), clock=lambda: 0.0, notice=broken).start()
    committer.notify_checkpoint_complete(1)
    group.failing = {A: BUSY}
    committer.remember(2, {"t": {0: 2}})
    committer.notify_checkpoint_complete(2)
    until(lambda: committer.stats().failed == 1)
    committer.close(PATIENCE_S)
    assert group.closed


def test_close_commits_the_last():
    bench = Bench(mode=CommitMode.KAFKA_PERIODIC)
    bench.committer.start()
    bench.complete(1, 5)
    bench.committer.close(PATIENCE_S)
    assert bench.group.offsets == {A: 5, B: 0}
    assert bench.group.closed


def test_close_tries_what_failed_once_more(bench: Bench):
    bench.committer.start()
    bench.group.failing = {B: BUSY}
    bench.complete(1, 5, 5)
    until(lambda: bench.counts == (0, 1))
    bench.group.failing = {}
    bench.committer.close(PATIENCE_S)
    assert bench.group.offsets == {A: 5, B: 5}


def test_close_has_nothing_to_do_when_all_is_committed(bench: Bench):
    bench.committer.start()
    bench.complete(1, 5)
    until(lambda: bench.counts == (1, 0))
    bench.committer.close(PATIENCE_S)
    assert len(bench.group.commits) == 1


def test_close_gives_up_after_its_timeout_and_says_so(bench: Bench):
    bench.committer.start()
    bench.group.may_go_on.clear()
    bench.complete(1, 5)
    entered(bench.group)
    bench.committer.close(0.0)
    assert bench.group.closed
    assert "were not committed within 0 s" in bench.said[0]
    bench.committer._thread.join(PATIENCE_S)


def test_close_never_raises_and_may_come_again_or_before_the_start(bench: Bench):
    bench.group.close = _refuse  # type: ignore[method-assign]
    bench.committer.close(PATIENCE_S)
    bench.committer.close(PATIENCE_S)
    assert "could not be closed" in bench.said[0]


def _refuse() -> None:
    raise OSError("the JVM has ended")
