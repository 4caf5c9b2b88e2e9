"""Two things at once: what happens to a checkpoint while another thread acts. Each interleaving is forced."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.checkpoint.rig import Counter, Rig, error_of, seal_report

from milepost.checkpoint.model import CheckpointId, FailureReason, Trigger
from milepost.checkpoint.schedule import CheckpointSchedule
from milepost.checkpoint.stats.engine_report import LiveBatch
from milepost.checkpoint.stats.failure import Cause
from milepost.errors import FencedError

LONG = 10.0
FREE = CheckpointSchedule(0, 0)
SHUTDOWN = FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN
ZERO = CheckpointId(0)


def elsewhere(action: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def where_it_can(rig: Rig, action: Callable[[], object]) -> None:
    """Let another thread do something now, unless it would have to wait for the coordinator's lock."""

    def act() -> None:
        if rig.coordinator.changed.acquire(blocking=False):
            rig.coordinator.changed.release()
            action()

    thread = elsewhere(act)
    thread.join(LONG)
    assert not thread.is_alive()


def expire(rig: Rig) -> None:
    rig.clock.seconds += 60
    rig.coordinator.observe(None)


def unreadable() -> None:
    raise OSError(5, "Input/output error")


class ContendedLock:
    """A lock that says when somebody has to wait for it."""

    def __init__(self) -> None:
        self.contended = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.contended.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


# ---- requests ----


def test_a_request_is_not_answered_by_a_batch_that_began_before_it() -> None:
    rig = Rig(schedule=FREE).start()
    answer = rig.coordinator.trigger()
    rig.advance()
    rig.batch(0, was_wanted=False)
    rig.advance()
    assert [each.checkpoint_id for each in rig.ledger.completed] == [0]
    assert not answer.done(), "the one that was asked for is the next"
    rig.batch(1)
    rig.advance()
    assert answer.result(timeout=0).checkpoint_id == 1


def test_a_request_during_the_seal_of_another_does_not_take_its_place() -> None:
    rig = Rig(schedule=FREE).start()
    first = rig.coordinator.trigger()
    rig.advance()
    rig.coordinator.seal(ZERO, seal_report())
    second = rig.coordinator.trigger()
    rig.advance()
    rig.ledger.commits.add(0)
    rig.coordinator.committed(ZERO)
    rig.advance()
    assert first.result(timeout=0).checkpoint_id == 0
    assert not second.done()
    rig.batch(1)
    rig.advance()
    assert second.result(timeout=0).checkpoint_id == 1


@pytest.mark.parametrize("is_sealed", [False, True])
def test_every_request_hears_of_an_abort(is_sealed: bool) -> None:
    rig = Rig(schedule=FREE).start()
    answers = [rig.coordinator.trigger()]
    rig.advance()
    if is_sealed:
        rig.coordinator.seal(ZERO, seal_report())
    answers.append(rig.coordinator.trigger())
    rig.advance()
    answers.append(rig.coordinator.trigger())
    rig.coordinator.stop(Cause(SHUTDOWN))
    assert ["CHECKPOINT_COORDINATOR_SHUTDOWN" in str(error_of(answer)) for answer in answers] == [True] * 3


@pytest.mark.parametrize("ends_well", [True, False])
def test_whoever_asked_cannot_take_it_back_and_break_the_others(ends_well: bool) -> None:
    rig = Rig().start()
    impatient, patient = rig.coordinator.trigger(), rig.coordinator.trigger()
    impatient.cancel()
    rig.advance()
    if ends_well:
        rig.batch(0)
        rig.advance()
    rig.coordinator.stop(Cause(SHUTDOWN))
    assert (impatient.done(), patient.done()) == (True, True)


def test_a_request_is_answered_also_when_a_listener_raises() -> None:
    rig = Rig().start()
    answer = rig.coordinator.trigger()
    rig.advance()
    rig.batch(0)
    rig.listener.completed = lambda _: 1 / 0  # type: ignore[method-assign,assignment]
    rig.advance()
    assert answer.result(timeout=0).checkpoint_id == 0


def test_a_stop_ends_everything_also_when_the_last_completion_breaks() -> None:
    rig = Rig().start()
    rig.advance()
    rig.coordinator.seal(ZERO, seal_report())
    answer = rig.coordinator.trigger()
    rig.ledger.during["committed"] = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        rig.coordinator.stop(Cause(SHUTDOWN))
    assert isinstance(error_of(answer), Exception)
    assert rig.coordinator.pending is None


# ---- trigger and stop ----


def test_a_stop_cannot_come_between_the_decision_and_the_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig().start()

    def reach(name: str) -> None:
        if name == "1-decide":
            where_it_can(rig, lambda: rig.coordinator.stop(Cause(SHUTDOWN)))

    monkeypatch.setattr("milepost.checkpoint.coordinator.reach", reach)
    rig.advance()
    rig.coordinator.stop(Cause(SHUTDOWN))
    assert rig.coordinator.pending is None
    assert len(rig.ledger.failures) == 1, "it was begun, and is aborted"


def test_a_trigger_that_fails_after_a_stop_is_nobodys_failure() -> None:
    rig = Rig().start()

    def stopped_and_gone() -> None:
        rig.coordinator.stop(Cause(SHUTDOWN))
        rig.start()
        rig.coordinator.observe(LiveBatch(batch_id=0, tasks=1))
        raise ConnectionError("the JVM is gone")

    rig.gate.open = stopped_and_gone  # type: ignore[method-assign]
    rig.advance()
    assert rig.coordinator.failure is None
    assert rig.coordinator.pending is not None, "of the attempt after it"


@pytest.mark.parametrize(
    ("case", "expected"),
    [("failed", None), ("pause of the attempt before", pytest.approx(4)), ("idle", pytest.approx(10))],
)
def test_it_never_spins(case: str, expected: float | None) -> None:
    rig = Rig(schedule=CheckpointSchedule(10, 4)).start()
    rig.advance()
    if case == "failed":
        expire(rig)
    else:
        rig.batch(0)
        rig.advance()
    if case == "pause of the attempt before":
        rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
        rig.start(last=0)
    assert rig.advance() == expected


# ---- completion ----


def test_a_stop_waits_for_the_completion_that_is_under_way() -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    lock = ContendedLock()
    rig.coordinator._completing = lock  # type: ignore[assignment]
    rig.advance()
    rig.batch(0)
    stops: list[threading.Thread] = []

    def stop_meanwhile() -> None:
        stops.append(elsewhere(lambda: rig.coordinator.stop(Cause(SHUTDOWN))))
        assert lock.contended.wait(LONG)

    rig.ledger.during["complete"] = stop_meanwhile
    rig.advance()
    stops[0].join(LONG)
    assert [each.checkpoint_id for each in rig.ledger.completed] == [0]
    assert (rig.ledger.failures, rig.coordinator.stats.completed) == ([], 1)
    assert counter.events == ["snapshot 0", "complete 0"]


def test_two_threads_tell_of_one_abort_once() -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()

    class Watched(deque[CheckpointId]):
        """Lets another thread look too, between the look and what follows from it."""

        looks = 0

        def __bool__(self) -> bool:
            has_some = len(self) > 0
            self.looks += 1
            if self.looks == 1:
                where_it_can(rig, rig.coordinator._tell_aborted)
            return has_some

    watched = rig.coordinator._aborted = Watched([ZERO])
    rig.coordinator._tell_aborted()
    assert watched.looks > 0
    assert counter.events == ["aborted 0"]


def test_what_the_engine_says_it_committed_and_did_not_fails_by_name() -> None:
    rig = Rig().start()
    answer = rig.coordinator.trigger()
    rig.advance()
    rig.coordinator.seal(ZERO, seal_report())
    rig.coordinator.committed(ZERO)
    rig.advance()
    assert "FINALIZE_CHECKPOINT_FAILURE" in str(rig.coordinator.failure), "else the job would wait for ever"
    assert "FINALIZE_CHECKPOINT_FAILURE" in str(error_of(answer))


@pytest.mark.parametrize("fault", ["full", "unreadable"])
def test_what_spark_has_committed_is_never_told_as_aborted(fault: str) -> None:
    """The next attempt resumes from it, so who would roll back now would lose what is in it."""
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.batch(0)
    rig.ledger.full = fault == "full"
    if fault == "unreadable":
        rig.ledger.during["committed"] = unreadable
    rig.advance()
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    assert counter.events == ["snapshot 0"]
    assert [failed.reason for failed in rig.ledger.failures] == [FailureReason.FINALIZE_CHECKPOINT_FAILURE]


def test_a_driver_that_was_fenced_after_its_seal_stores_nothing() -> None:
    rig = Rig().start()
    rig.advance()
    rig.batch(0)
    rig.ledger.fenced = True
    rig.advance()
    assert rig.ledger.completed == []
    assert isinstance(rig.coordinator.failure, FencedError)
    assert not rig.coordinator.failure.retryable


# ---- seal ----


@pytest.mark.parametrize("where", ["verify_lease", "seal"])
@pytest.mark.parametrize("how", ["expired", "stopped", "restarted"])
def test_one_that_is_aborted_while_it_is_sealed_is_not_sealed(where: str, how: str) -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()

    def abort() -> None:
        if how == "expired":
            expire(rig)
        else:
            rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
        if how == "restarted":
            rig.start()
            rig.coordinator.observe(LiveBatch(batch_id=0, tasks=1))

    rig.ledger.during[where] = abort
    assert rig.batch(0) != ""
    rig.advance()
    assert rig.ledger.completed == []
    assert len(rig.ledger.failures) == 1
    assert (rig.coordinator.pending is not None) == (how == "restarted"), "only its own is aborted"


def test_an_acknowledgement_of_an_aborted_one_does_not_count_for_the_next() -> None:
    rig = Rig(participants=(Counter(),)).start()
    rig.advance()

    def restarted() -> None:
        rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
        rig.start()
        rig.coordinator.observe(LiveBatch(batch_id=0, tasks=1))

    rig.ledger.during["verify_lease"] = restarted
    rig.batch(0)
    pending = rig.coordinator.pending
    assert pending is not None
    assert pending.acknowledged == {}


def test_a_seal_between_the_look_and_the_expiry_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig().start()
    rig.advance()
    verdicts: list[str] = []

    def is_expired(*_: Any) -> bool:
        verdicts.append(rig.batch(0))
        return True

    monkeypatch.setattr("milepost.checkpoint.decide.is_expired", is_expired)
    rig.coordinator.observe(None)
    rig.advance()
    assert verdicts == [""]
    assert rig.coordinator.failure is None
    assert [each.checkpoint_id for each in rig.ledger.completed] == [0]


@pytest.mark.parametrize("case", ["stopped", "expired"])
def test_a_seal_that_comes_too_late_is_declined(case: str) -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    attempt = rig.coordinator.attempt
    if case == "stopped":
        rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    else:
        expire(rig)
    assert rig.coordinator.seal(ZERO, seal_report(), attempt=attempt) is not None
    rig.advance()
    assert (rig.ledger.sealed, rig.coordinator.pending) == ([], None)
    assert counter.events == ["aborted 0"], "nobody is asked for a snapshot"
    assert len(rig.ledger.failures) == 1


def test_a_seal_of_the_attempt_before_is_declined_also_when_the_job_runs_again() -> None:
    rig = Rig().start()
    attempt = rig.coordinator.attempt
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    rig.start()
    assert rig.coordinator.seal(ZERO, seal_report(), attempt=attempt) is not None
    assert rig.coordinator.seal(ZERO, seal_report(), attempt=rig.coordinator.attempt) is None


def test_a_replay_that_is_faster_than_the_start_waits_for_it() -> None:
    rig = Rig()
    waits = threading.Event()
    verdicts: list[str] = []
    wait_for = rig.coordinator.changed.wait_for

    def told_wait_for(predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        waits.set()
        return wait_for(predicate, timeout)

    rig.coordinator.changed.wait_for = told_wait_for  # type: ignore[method-assign,assignment]
    engine = elsewhere(lambda: verdicts.append(rig.batch(5, was_admitted=False, was_wanted=False)))
    assert waits.wait(LONG)
    rig.start(last=4)
    engine.join(LONG)
    rig.advance()
    assert verdicts == [""]
    assert [(each.checkpoint_id, each.trigger) for each in rig.ledger.completed] == [(5, Trigger.ENGINE)]


# ---- observe ----


def test_a_declined_batch_that_is_still_seen_running_fails_once() -> None:
    counter = Counter()
    counter.refuses = ValueError("no")
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.batch(0)
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=1))
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    assert [failed.reason for failed in rig.ledger.failures] == [FailureReason.CHECKPOINT_DECLINED]


def test_what_is_attached_during_the_seal_is_in_the_next_checkpoint() -> None:
    rig = Rig().start()
    rig.coordinator.attach("log-id", 17)

    def attach_more() -> None:
        rig.coordinator.attach("log-id", 17)
        rig.coordinator.attach("nothing", None)

    rig.ledger.during["complete"] = attach_more
    for batch_id in range(3):
        rig.advance(10)
        rig.batch(batch_id)
        rig.advance()
    assert [each.extra for each in rig.ledger.completed] == [
        {"log-id": 17},
        {"log-id": 17, "nothing": None},
        {},
    ]
