"""What is in flight, move by move."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from milepost.checkpoint.in_flight import InFlight, Moment
from milepost.checkpoint.model import Acknowledgement, AckResult, CheckpointId, Trigger
from milepost.checkpoint.stats.engine_report import LiveBatch, SealReport

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
FIRST = Moment(NOW, 10.0)
LATER = Moment(NOW + timedelta(seconds=5), 15.0)
IDLE = InFlight(participants=frozenset({"ledger"}), last=CheckpointId(6))
FREE = InFlight(participants=frozenset(), is_free_running=True, last=CheckpointId(6))


def ack(name: str) -> Acknowledgement:
    return Acknowledgement(participant=name, at=NOW)


def report(*, admitted: bool = True, wanted: bool = True, writers: int = 2, states: int = 0) -> SealReport:
    names = (*(f"writer/{n}" for n in range(writers)), *(f"state/{n}" for n in range(states)))
    return SealReport(acknowledgements=tuple(map(ack, names)), was_admitted=admitted, was_wanted=wanted)


def test_one_that_was_asked_for_is_the_one_that_is_sealed() -> None:
    begun = IDLE.begin(Trigger.ON_DEMAND, FIRST)
    assert begun.is_full
    assert begun.pending is not None
    assert begun.pending.checkpoint_id == 7
    sealed = begun.seal(CheckpointId(7), report(), LATER)
    assert sealed.triggered is None
    assert sealed.running is not None
    assert sealed.running.trigger is Trigger.ON_DEMAND
    assert (sealed.running.triggered_at, sealed.running.deadline) == (NOW, 10.0)
    assert sealed.running.missing == {"ledger"}


def test_a_batch_of_sparks_own_does_not_take_the_place_of_the_one_asked_for() -> None:
    sealed = IDLE.begin(Trigger.PERIODIC, FIRST).seal(CheckpointId(7), report(admitted=False), LATER)
    assert sealed.running is not None
    assert sealed.running.trigger is Trigger.ENGINE
    assert sealed.triggered is not None
    assert (sealed.triggered.checkpoint_id, sealed.triggered.trigger) == (8, Trigger.PERIODIC)


def test_a_replay_at_the_start_needs_no_trigger() -> None:
    sealed = IDLE.seal(CheckpointId(7), report(admitted=False), FIRST)
    assert sealed.running is not None
    assert sealed.running.trigger is Trigger.ENGINE


def test_a_free_running_batch_begun_before_the_request_is_not_its_answer() -> None:
    asked = FREE.begin(Trigger.ON_DEMAND, FIRST)
    first = asked.seal(CheckpointId(7), report(wanted=False), LATER)
    assert first.running is not None
    assert first.running.trigger is Trigger.PERIODIC
    assert first.triggered is not None
    assert first.triggered.checkpoint_id == 8
    second = first.completed(CheckpointId(7)).seal(CheckpointId(8), report(), LATER)
    assert second.running is not None
    assert second.running.trigger is Trigger.ON_DEMAND


def test_in_continuous_execution_the_end_of_the_running_batch_is_the_answer() -> None:
    flight = InFlight(
        participants=frozenset(), is_free_running=True, is_continuous=True, last=CheckpointId(6)
    )
    sealed = flight.begin(Trigger.ON_DEMAND, FIRST).seal(CheckpointId(7), report(wanted=False), LATER)
    assert sealed.triggered is None
    assert sealed.running is not None
    assert sealed.running.trigger is Trigger.ON_DEMAND


def test_live_acknowledgements_count_up_to_all_writers_and_participants() -> None:
    begun = IDLE.begin(Trigger.PERIODIC, FIRST)
    seen = begun.observe(LiveBatch(batch_id=7, tasks=2, acknowledgements=(ack("writer/1"),)), LATER)
    assert seen.running is not None
    assert seen.running.missing == {"writer/0", "ledger"}
    assert seen.running.deadline == 10.0, "the time runs from the trigger"


def test_how_many_are_expected_is_known_with_the_tasks_and_stays() -> None:
    begun = IDLE.begin(Trigger.PERIODIC, FIRST)
    states = LiveBatch(batch_id=7, tasks=2, states=(0,))
    unknown = begun.observe(LiveBatch(batch_id=7, tasks=0), LATER)
    seen = unknown.observe(states, LATER)
    lost = seen.observe(LiveBatch(batch_id=7, tasks=0), LATER)
    sealed = lost.seal(CheckpointId(7), report(writers=2, states=1), LATER)
    expected = [each.pending and each.pending.expected for each in (begun, unknown, seen, lost, sealed)]
    assert expected == [None, None, 4, 4, 4]


def test_a_batch_nobody_asked_for_has_its_time_from_when_it_was_seen() -> None:
    seen = IDLE.observe(LiveBatch(batch_id=7, tasks=1), LATER)
    assert seen.running is not None
    assert (seen.running.trigger, seen.running.deadline) == (Trigger.ENGINE, 15.0)


def test_a_batch_that_is_complete_is_not_seen_again() -> None:
    assert IDLE.observe(LiveBatch(batch_id=6, tasks=2), LATER).running is None


def test_the_next_batch_does_not_acknowledge_for_the_one_that_is_being_completed() -> None:
    sealed = FREE.seal(CheckpointId(7), report(writers=1), FIRST)
    seen = sealed.observe(LiveBatch(batch_id=8, tasks=3, acknowledgements=(ack("writer/2"),)), LATER)
    assert seen == sealed


@pytest.mark.parametrize(
    ("flight", "name", "expected"),
    [
        (IDLE.seal(CheckpointId(7), report(), FIRST), "ledger", AckResult.SUCCESS),
        (IDLE.seal(CheckpointId(7), report(), FIRST), "writer/0", AckResult.DUPLICATE),
        (IDLE.seal(CheckpointId(7), report(), FIRST), "stranger", AckResult.UNKNOWN),
        (IDLE, "ledger", AckResult.DISCARDED),
        (IDLE.seal(CheckpointId(7), report(), FIRST).aborted(), "ledger", AckResult.DISCARDED),
    ],
)
def test_what_an_acknowledgement_is(flight: InFlight, name: str, expected: AckResult) -> None:
    assert flight.acknowledge(ack(name))[1] is expected


@pytest.mark.parametrize(
    ("flight", "expected"),
    [
        (IDLE, False),
        (IDLE.begin(Trigger.PERIODIC, FIRST), True),
        (IDLE.seal(CheckpointId(7), report(), FIRST), True),
        (FREE.seal(CheckpointId(7), report(), FIRST), False),
        (FREE.begin(Trigger.ON_DEMAND, FIRST), True),
    ],
)
def test_when_no_further_one_may_be_asked_for(flight: InFlight, expected: bool) -> None:
    assert flight.is_full is expected
