"""Counts, the latest of each kind, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.checkpoint.rig import START, checkpoint

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.stats.counts import (
    HISTORY,
    QUANTILES,
    CheckpointStats,
    Ended,
    Summary,
    summarize,
)


def completed(number: int, *, took_ms: int = 0, state: int = 0) -> CompletedCheckpoint:
    acks = (
        Acknowledgement(participant="state/dedupe", at=START, bytes=state),
        Acknowledgement(participant="writer/0", at=START, bytes=999),
    )
    ended = START + timedelta(milliseconds=took_ms)
    return replace(checkpoint(number), completed_at=ended, acknowledgements=acks)


def failed(number: int) -> FailedCheckpoint:
    return FailedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=START,
        failed_at=START,
        reason=FailureReason.CHECKPOINT_DECLINED,
    )


@pytest.mark.parametrize(
    ("events", "counts", "latest"),
    [
        ([], (0, 0), (None, None)),
        ([completed(0)], (1, 0), (0, None)),
        ([failed(0)], (0, 1), (None, 0)),
        ([completed(0), failed(1), completed(1), failed(2)], (2, 2), (1, 2)),
        ([completed(0), completed(1), failed(2)], (2, 1), (1, 2)),
    ],
)
def test_counts_and_the_latest_of_each_kind(
    events: Sequence[Ended], counts: tuple[int, int], latest: tuple[int | None, int | None]
) -> None:
    stats = CheckpointStats.of(events)
    assert (stats.completed, stats.failed) == counts
    ids = [each and each.checkpoint_id for each in (stats.latest_completed, stats.latest_failed)]
    assert tuple(ids) == latest
    assert list(stats.history) == events


def test_the_latest_savepoint_is_known_when_it_is_no_longer_in_the_history() -> None:
    taken = replace(completed(0), trigger=Trigger.SAVEPOINT)
    stats = CheckpointStats.of([taken, *(completed(number) for number in range(1, HISTORY + 2))])
    assert taken not in stats.history
    assert stats.latest_savepoint is taken


def test_the_history_is_short_and_the_counts_are_not() -> None:
    stats = CheckpointStats.of(completed(number) for number in range(HISTORY + 5))
    assert [each.checkpoint_id for each in stats.history] == list(range(5, HISTORY + 5))
    assert stats.completed == HISTORY + 5


def test_only_completed_ones_are_measured_and_only_state_is_size() -> None:
    stats = CheckpointStats.of([completed(0, took_ms=40, state=7), failed(1), completed(1, took_ms=60)])
    assert (list(stats.durations), list(stats.sizes)) == ([40, 60], [7, 0])


@pytest.mark.parametrize(
    ("starts", "restores", "restored"),
    [([None], 0, None), ([4], 1, 4), ([None, 4, 9], 2, 9), ([4, None], 1, None)],
)
def test_what_attempts_began_from(starts: list[int | None], restores: int, restored: int | None) -> None:
    stats = CheckpointStats()
    for each in starts:
        stats.restore(None if each is None else checkpoint(each))
    assert (stats.restores, stats.restored and stats.restored.checkpoint_id) == (restores, restored)
    assert stats.completed == 0, "it was counted when it completed"


@pytest.mark.parametrize(
    ("samples", "minimum", "average", "maximum", "median", "p90"),
    [
        ([5], 5, 5, 5, 5, 5),
        ([1, 3], 1, 2, 3, 2, 2.8),
        ([30, 10, 20], 10, 20, 30, 20, 28),
        (list(range(101)), 0, 50, 100, 50, 90),
    ],
)
def test_a_distribution(
    samples: list[int], minimum: int, average: int, maximum: int, median: float, p90: float
) -> None:
    summary = summarize(samples)
    assert (summary.minimum, summary.average, summary.maximum) == (minimum, average, maximum)
    assert summary.quantiles[0.5] == pytest.approx(median)
    assert summary.quantiles[0.9] == pytest.approx(p90)
    assert list(summary.quantiles) == list(QUANTILES)


def test_the_distribution_of_nothing() -> None:
    assert summarize([]) == Summary()


def test_failures_are_counted_by_their_reasons() -> None:
    expired = replace(failed(3), reason=FailureReason.CHECKPOINT_EXPIRED)
    stats = CheckpointStats.of([failed(1), completed(1), failed(2), expired])
    assert stats.failures == {FailureReason.CHECKPOINT_DECLINED: 2, FailureReason.CHECKPOINT_EXPIRED: 1}


def test_the_newest_is_what_a_restart_would_begin_from() -> None:
    stats = CheckpointStats.of([completed(0), completed(1)])
    assert stats.newest == completed(1)
    stats.restore(completed(1))
    assert (stats.newest, stats.latest_completed) == (completed(1), completed(1))
    stats.add(completed(2))
    assert stats.newest == completed(2)


@pytest.mark.parametrize("start", [None, 0, 9], ids=["fresh", "rolled back", "a savepoint"])
def test_what_another_line_of_checkpoints_has_is_not_the_newest(start: int | None) -> None:
    stats = CheckpointStats.of([completed(0), completed(1)])
    restored = None if start is None else completed(start)
    stats.restore(restored)
    assert (stats.newest, stats.latest_completed) == (restored, None)
    assert stats.completed == 2, "they have completed all the same"


def test_a_run_counts_its_own_checkpoints() -> None:
    stats = CheckpointStats.of([completed(0), failed(1)])
    assert (stats.run.completed, stats.run.failed, stats.run.totals["rows"]) == (0, 0, 0)
    details = {"puts": 5, "deletes": 2, "write": "mutations"}
    wrote = Acknowledgement(participant="writer/0", at=START, rows=7, bytes=70, details=details)
    kept = Acknowledgement(participant="state/0", at=START, rows=9, bytes=9)
    stats.add(replace(completed(1), acknowledgements=(wrote, wrote, kept), rejected={"BAD": 3}))
    stats.add(failed(2))
    stats.remember(completed(2))
    assert (stats.run.completed, stats.run.failed, stats.completed) == (1, 1, 3)
    assert (stats.run.totals["rows"], stats.run.totals["bytes"], stats.run.totals["puts"]) == (14, 140, 10)
    assert stats.run.rejected == {"BAD": 3}
    before = stats.run.copy()
    stats.begin_run()
    assert (before.completed, stats.run.completed) == (1, 0)
