"""The decisions of the coordinator, as tables; time is an argument."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.checkpoint import decide
from milepost.checkpoint.model import (
    Acknowledgement,
    AckResult,
    CheckpointId,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
PENDING = PendingCheckpoint(
    checkpoint_id=CheckpointId(7),
    trigger=Trigger.PERIODIC,
    triggered_at=NOW,
    deadline=100.0,
    waiting_for=frozenset({"writer/0", "writer/1", "ledger"}),
)


def ack(name: str) -> Acknowledgement:
    return Acknowledgement(participant=name, at=NOW)


RUNNING = {"is_running": True, "is_stopping": False, "pending": 0, "pause_ends": 0.0, "now": 50.0}


@pytest.mark.parametrize(
    ("trigger", "change", "expected"),
    [
        (Trigger.PERIODIC, {}, None),
        (Trigger.ON_DEMAND, {}, None),
        (Trigger.PERIODIC, {"is_running": False}, FailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING),
        (Trigger.ON_DEMAND, {"is_running": False}, FailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING),
        (Trigger.PERIODIC, {"is_stopping": True}, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN),
        (
            Trigger.PERIODIC,
            {"is_stopping": True, "is_running": False},
            FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN,
        ),
        (Trigger.PERIODIC, {"pending": 1}, FailureReason.TOO_MANY_CHECKPOINT_REQUESTS),
        (Trigger.ON_DEMAND, {"pending": 1}, FailureReason.TOO_MANY_CHECKPOINT_REQUESTS),
        (Trigger.PERIODIC, {"pause_ends": 51.0}, FailureReason.MINIMUM_TIME_BETWEEN_CHECKPOINTS),
        (Trigger.PERIODIC, {"pause_ends": 50.0}, None),
        (Trigger.ON_DEMAND, {"pause_ends": 51.0}, None),
        (
            Trigger.PERIODIC,
            {"pending": 1, "pause_ends": 51.0},
            FailureReason.TOO_MANY_CHECKPOINT_REQUESTS,
        ),
    ],
)
def test_may_it_start(trigger: Trigger, change: dict[str, object], expected: FailureReason | None) -> None:
    observed: dict[str, object] = RUNNING | change
    assert decide.refuse_trigger(trigger, **observed) is expected  # type: ignore[arg-type]


def test_what_is_refused_before_the_start_is_a_preflight_reason_unless_the_job_ends() -> None:
    refused = {
        decide.refuse_trigger(Trigger.PERIODIC, **(RUNNING | change))
        for change in ({"is_running": False}, {"pending": 1}, {"pause_ends": 60.0})
    }
    assert all(reason is not None and reason.is_preflight for reason in refused)


@pytest.mark.parametrize(
    ("done", "participant", "expected"),
    [
        ((), "writer/0", AckResult.SUCCESS),
        (("writer/0",), "writer/1", AckResult.SUCCESS),
        (("writer/0",), "writer/0", AckResult.DUPLICATE),
        ((), "stranger", AckResult.UNKNOWN),
    ],
)
def test_what_an_acknowledgement_is(done: tuple[str, ...], participant: str, expected: AckResult) -> None:
    before = replace(PENDING, acknowledged={name: ack(name) for name in done})
    after, result = decide.acknowledge(before, ack(participant))
    assert result is expected
    counted = {*done, participant} if expected is AckResult.SUCCESS else set(done)
    assert set(after.acknowledged) == counted


@given(st.permutations(sorted(PENDING.waiting_for)))
def test_it_is_complete_after_everyone_in_any_order_and_not_before(order: list[str]) -> None:
    pending = PENDING
    for name in order:
        assert pending.missing
        pending, _ = decide.acknowledge(pending, ack(name))
    assert not pending.missing


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (99.9, False),
        (100.0, True),
        (500.0, True),
    ],
)
def test_when_it_expires(now: float, expected: bool) -> None:
    assert decide.is_expired(PENDING, now) is expected


@pytest.mark.parametrize(
    ("triggered", "was_admitted", "was_wanted", "expected"),
    [
        (PENDING, True, True, Trigger.PERIODIC),
        (replace(PENDING, trigger=Trigger.ON_DEMAND), True, True, Trigger.ON_DEMAND),
        # free-running: its boundary was set before somebody asked
        (replace(PENDING, trigger=Trigger.ON_DEMAND), True, False, Trigger.PERIODIC),
        (None, True, False, Trigger.PERIODIC),
        (None, False, False, Trigger.ENGINE),  # a replay at the start
        (PENDING, False, False, Trigger.ENGINE),  # a batch without data came in between
    ],
)
def test_who_began_a_batch(
    triggered: PendingCheckpoint | None, was_admitted: bool, was_wanted: bool, expected: Trigger
) -> None:
    assert decide.trigger_of(triggered, was_admitted=was_admitted, was_wanted=was_wanted) is expected


@pytest.mark.parametrize(
    ("failures", "tolerable", "expected"), [(1, 0, False), (1, 1, True), (2, 1, False), (3, 3, True)]
)
def test_how_many_failed_checkpoints_a_job_bears(failures: int, tolerable: int, expected: bool) -> None:
    assert decide.is_tolerable(failures, tolerable) is expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (FailureReason.CHECKPOINT_DECLINED, True),
        (FailureReason.CHECKPOINT_EXPIRED, True),
        (FailureReason.FINALIZE_CHECKPOINT_FAILURE, True),
        (FailureReason.TASK_FAILURE, False),
        (FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN, False),
        (FailureReason.FENCED, False),
        (FailureReason.TOPIC_RECREATED, False),
    ],
)
def test_which_reasons_count_against_the_tolerable_failures(reason: FailureReason, expected: bool) -> None:
    assert decide.is_failure_of_checkpoint(reason) is expected


def test_ids_follow_each_other_from_zero() -> None:
    assert decide.next_id(None) == 0
    assert decide.next_id(CheckpointId(7)) == 8


IDS = st.sets(st.integers(0, 50).map(CheckpointId))


@given(IDS, st.integers(1, 60))
def test_the_newest_are_kept(ids: set[CheckpointId], keep: int) -> None:
    gone = decide.beyond_retention(ids, keep)
    kept = ids - set(gone)
    assert len(kept) == min(keep, len(ids))
    assert not gone or max(gone) < min(kept)
