"""The coordinator with an engine, a ledger and participants that do as they are told; the clock is moved by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.checkpoint.rig import START, Counter, Rig, checkpoint, error_of, seal_report

from milepost.checkpoint.model import Acknowledgement, AckResult, CheckpointId, FailureReason, Trigger
from milepost.checkpoint.schedule import CheckpointSchedule
from milepost.checkpoint.stats.engine_report import LiveBatch
from milepost.checkpoint.stats.failure import Cause
from milepost.errors import CheckpointError, FencedError, MilepostError, StorageError, TopicRecreatedError


def test_a_checkpoint_from_its_trigger_to_its_notification() -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    assert rig.gate.opened == 1
    assert rig.batch(0) == ""
    assert rig.ledger.completed == [], "not before the engine's commit was read again"
    assert [sealed.states for sealed in rig.ledger.sealed] == [{"counter": {"count": 0}}]
    rig.advance(2)
    (stored,) = rig.ledger.completed
    assert (stored.checkpoint_id, stored.trigger, stored.epoch) == (0, Trigger.PERIODIC, 3)
    assert [ack.participant for ack in stored.acknowledgements] == ["writer/0", "counter"]
    assert stored.duration_ms == 2000
    assert counter.events == ["snapshot 0", "complete 0"]
    assert [heard.sources for heard in rig.listener.heard] == [({"orders": {0: 0}},)]
    assert rig.coordinator.stats.completed == 1
    assert rig.coordinator.pending is None


def test_without_participants_nothing_is_written_at_the_seal() -> None:
    rig = Rig().start()
    rig.advance()
    rig.batch(0)
    assert rig.ledger.sealed == []


@pytest.mark.parametrize(
    ("schedule", "steps", "opened"),
    [
        (CheckpointSchedule(10, 0), (0, 9.9), 1),
        (CheckpointSchedule(10, 0), (0, 10), 2),
        (CheckpointSchedule(10, 0), (0, 25), 2),
        (CheckpointSchedule(10, 4), (9, 1), 1),  # the first took 9 s; the pause ends at 13
        (CheckpointSchedule(10, 4), (9, 4), 2),
        (CheckpointSchedule(0, 0), (0, 100), 0),  # free-running: the gate is not opened but free
    ],
)
def test_when_the_next_is_triggered(
    schedule: CheckpointSchedule, steps: tuple[float, float], opened: int
) -> None:
    rig = Rig(schedule=schedule).start()
    rig.advance()
    rig.clock.seconds += steps[0]
    rig.batch(0)
    rig.advance()
    rig.advance(steps[1])
    assert rig.gate.opened == opened


def test_how_long_it_may_sleep() -> None:
    rig = Rig().start()
    assert rig.advance() is None, "only a call can bring something while one is in flight"
    rig.batch(0)
    assert rig.advance(3) == pytest.approx(7)


def test_none_is_triggered_while_one_is_pending() -> None:
    rig = Rig().start()
    rig.advance()
    rig.advance(15)
    assert rig.gate.opened == 1


def test_on_demand_it_starts_at_once_whatever_the_interval_and_the_pause() -> None:
    rig = Rig(schedule=CheckpointSchedule(100, 50)).start()
    rig.advance()
    rig.batch(0)
    rig.advance()
    answer = rig.coordinator.trigger()
    rig.advance()
    assert rig.gate.opened == 2
    rig.batch(1)
    rig.advance()
    assert answer.result(timeout=0).checkpoint_id == 1
    assert answer.result(timeout=0).trigger is Trigger.ON_DEMAND


def test_a_request_during_a_checkpoint_is_served_by_the_next_one() -> None:
    rig = Rig().start()
    rig.advance()
    answers = [rig.coordinator.trigger(), rig.coordinator.trigger()]
    rig.advance()
    rig.batch(0)
    rig.advance()
    assert not any(answer.done() for answer in answers)
    assert rig.gate.opened == 2
    rig.batch(1)
    rig.advance()
    assert [answer.result(timeout=0).checkpoint_id for answer in answers] == [1, 1]


@pytest.mark.parametrize(
    ("schedule", "report"),
    [
        (CheckpointSchedule(0, 0), {"was_wanted": False}),  # one batch follows the other, and one was running
        # Spark went ahead with one of its own.
        (CheckpointSchedule(10, 0), {"was_admitted": False, "was_wanted": False}),
    ],
    ids=["free-running", "of the engine"],
)
def test_a_request_is_not_served_by_a_batch_that_was_not_begun_for_it(
    schedule: CheckpointSchedule, report: dict[str, bool]
) -> None:
    rig = Rig(schedule=schedule).start(last=0)
    answer = rig.coordinator.trigger()
    rig.advance()
    rig.batch(1, **report)
    rig.advance()
    assert not answer.done()
    rig.batch(2)
    rig.advance()
    assert answer.result(timeout=0).checkpoint_id == 2
    assert answer.result(timeout=0).trigger is Trigger.ON_DEMAND


def test_a_request_to_a_job_that_does_not_run_is_refused_by_name() -> None:
    rig = Rig()
    assert "NOT_ALL_REQUIRED_TASKS_RUNNING" in str(error_of(rig.coordinator.trigger()))


def test_a_request_that_is_not_served_any_more_is_refused_by_name() -> None:
    rig = Rig().start()
    rig.advance()
    begun, waiting = rig.coordinator.trigger(), rig.coordinator.trigger()
    rig.coordinator.stop(Cause(FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN))
    for answer in (begun, waiting):
        assert "CHECKPOINT_COORDINATOR_SHUTDOWN" in str(error_of(answer))


def test_a_participant_that_raises_declines() -> None:
    counter = Counter()
    counter.refuses = ValueError("the ledger does not balance")
    rig = Rig(participants=(counter,)).start()
    answer = rig.coordinator.trigger()
    rig.advance()
    verdict = rig.batch(0)
    assert "the ledger does not balance" in verdict
    rig.advance()
    (failed,) = rig.ledger.failures
    assert (failed.checkpoint_id, failed.reason) == (0, FailureReason.CHECKPOINT_DECLINED)
    assert [ack.participant for ack in failed.acknowledgements] == ["writer/0"]
    assert failed.missing == ("counter",)
    (by,) = failed.failed_by
    assert by.participant == "counter"
    assert by.sentence.endswith("ValueError: the ledger does not balance")
    assert by.traceback.startswith("Traceback (most recent call last):")
    assert by.traceback not in failed.detail
    assert counter.events == ["snapshot 0", "aborted 0"]
    assert "the ledger does not balance" in str(rig.coordinator.failure)
    assert isinstance(error_of(answer), CheckpointError)
    assert rig.ledger.completed == []


def test_what_a_participant_says_is_stored_and_returned_without_secrets() -> None:
    counter = Counter()
    counter.refuses = ValueError("no login with hunter2")
    rig = Rig(participants=(counter,)).start()
    rig.coordinator.redact = lambda text: text.replace("hunter2", "******")
    answer = rig.coordinator.trigger()
    rig.advance()
    verdict = rig.batch(0)
    (failed,) = rig.ledger.failures
    for text in (verdict, failed.detail, failed.failed_by[0].traceback, str(error_of(answer))):
        assert "no login with ******" in text


def test_the_batch_of_a_declined_checkpoint_does_not_fail_a_second_time() -> None:
    counter = Counter()
    counter.refuses = ValueError("no")
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.batch(0)
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=1))  # the engine still shows it
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    assert [each.reason for each in rig.ledger.failures] == [FailureReason.CHECKPOINT_DECLINED]
    assert rig.coordinator.stats.failed == 1


@pytest.mark.parametrize(
    ("tolerable", "declines", "expected"), [(0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)]
)
def test_how_many_declined_ones_the_job_bears(tolerable: int, declines: int, expected: bool) -> None:
    counter = Counter()
    rig = Rig(participants=(counter,), tolerable=tolerable)
    counter.refuses = ValueError("no")
    for _ in range(declines):
        rig.start()
        rig.advance()
        rig.batch(0)
        rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    assert rig.coordinator.is_tolerable is expected
    counter.refuses = None
    rig.start()
    rig.advance()
    rig.batch(0)
    rig.advance()
    assert not rig.coordinator.is_tolerable, "a completed one starts the count anew, and nothing has failed"


def test_a_batch_that_takes_too_long_expires() -> None:
    rig = Rig().start()
    rig.advance()
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=2))
    rig.clock.seconds += 59
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=2))
    assert rig.coordinator.failure is None
    rig.clock.seconds += 1
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=2))
    assert "CHECKPOINT_EXPIRED" in str(rig.coordinator.failure)
    assert "writer/0, writer/1" in str(rig.coordinator.failure)


def test_an_engine_that_does_not_come_to_the_gate_expires_it_too() -> None:
    rig = Rig().start()
    rig.advance()
    rig.clock.seconds += 60
    rig.coordinator.observe(None)
    assert "CHECKPOINT_EXPIRED" in str(rig.coordinator.failure)


def test_n_of_m_is_seen_while_it_runs() -> None:
    rig = Rig(participants=(Counter(),)).start()
    rig.advance()
    acks = (Acknowledgement(participant="writer/1", at=START),)
    rig.coordinator.observe(LiveBatch(batch_id=0, tasks=3, acknowledgements=acks))
    pending = rig.coordinator.pending
    assert pending is not None
    assert (len(pending.acknowledged), len(pending.waiting_for)) == (1, 4)


@pytest.mark.parametrize(
    ("fault", "reason", "kind"),
    [
        ("fenced", FailureReason.FENCED, FencedError),
        ("topic_fault", FailureReason.TOPIC_RECREATED, TopicRecreatedError),
        ("writer_fault", FailureReason.FENCED, FencedError),
    ],
)
def test_what_must_not_be_sealed_is_not_and_is_not_retried(
    fault: str, reason: FailureReason, kind: type[MilepostError]
) -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.ledger.fenced = fault == "fenced"
    rig.advance()
    assert rig.batch(0, **({} if fault == "fenced" else {fault: "orders is not what it was"})) != ""
    assert counter.events == [], "nobody is asked for a snapshot"
    assert isinstance(rig.coordinator.failure, kind)
    assert not kind.retryable
    assert [failed.reason for failed in rig.ledger.failures] == [reason]


def test_a_batch_that_spark_has_not_committed_does_not_complete() -> None:
    rig = Rig().start()
    rig.advance()
    rig.coordinator.seal(CheckpointId(0), seal_report())
    rig.coordinator.committed(CheckpointId(0))
    rig.advance()
    assert rig.ledger.completed == []


def test_a_full_disk_fails_the_checkpoint_by_name() -> None:
    rig = Rig().start()
    rig.ledger.full = True
    rig.advance()
    rig.batch(0)
    rig.advance()
    (told,) = rig.ledger.failures
    assert told.reason is FailureReason.FINALIZE_CHECKPOINT_FAILURE
    assert "is full" in told.detail
    assert isinstance(rig.coordinator.failure, StorageError)
    assert rig.coordinator.failure.retryable


def test_an_engine_that_is_gone_fails_the_trigger_by_name() -> None:
    rig = Rig().start()
    rig.gate.broken = True
    rig.advance()
    assert "TRIGGER_CHECKPOINT_FAILURE" in str(rig.coordinator.failure)


def test_a_listener_that_raises_fails_the_job_and_not_the_checkpoint() -> None:
    counter = Counter()
    counter.refuses_to_hear = True
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.batch(0)
    rig.advance()
    assert rig.coordinator.stats.completed == 1
    assert "the ledger is closed" in str(rig.coordinator.failure)


def test_a_batch_that_failed_is_a_failed_checkpoint_but_not_a_failure_of_ours() -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE, "HBase is down"))
    assert rig.coordinator.failure is None
    assert [(f.reason, f.detail) for f in rig.ledger.failures] == [
        (FailureReason.TASK_FAILURE, "HBase is down")
    ]
    assert counter.events == ["aborted 0"]


@pytest.mark.parametrize(("has_commit", "completed"), [(True, [0]), (False, [])])
def test_a_stop_after_the_seal_completes_what_spark_has_committed(
    has_commit: bool, completed: list[int]
) -> None:
    rig = Rig().start()
    rig.advance()
    rig.coordinator.seal(CheckpointId(0), seal_report())
    rig.ledger.commits |= {0} if has_commit else set()
    rig.coordinator.stop(Cause(FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN))
    assert [each.checkpoint_id for each in rig.ledger.completed] == completed
    assert len(rig.ledger.failures) == 1 - len(completed)


def test_a_replay_after_a_restart_is_a_checkpoint_of_the_engine() -> None:
    rig = Rig().start(last=4)
    rig.batch(5, was_admitted=False, was_wanted=False)
    rig.advance()
    assert [(each.checkpoint_id, each.trigger) for each in rig.ledger.completed] == [(5, Trigger.ENGINE)]


def test_everybody_is_told_in_order_and_once() -> None:
    counter = Counter()
    rig = Rig(schedule=CheckpointSchedule(0, 0), participants=(counter,)).start()
    for batch_id in range(3):
        rig.batch(batch_id, was_wanted=False)
        rig.advance()
        rig.coordinator.committed(CheckpointId(batch_id))
        rig.advance()
    told = [event for event in counter.events if event.startswith("complete")]
    assert told == ["complete 0", "complete 1", "complete 2"]
    assert [each.checkpoint_id for each in rig.ledger.completed] == [0, 1, 2]


def test_what_is_attached_is_in_the_next_checkpoint_only() -> None:
    rig = Rig().start()
    rig.coordinator.attach("log-id", "a-17")
    rig.coordinator.attach("blob", b"\x00\x01")
    for batch_id in range(2):
        rig.advance(10)
        rig.batch(batch_id)
        rig.advance()
    assert [each.extra for each in rig.ledger.completed] == [{"log-id": "a-17", "blob": b"\x00\x01"}, {}]
    assert [each.extra for each in rig.ledger.sealed] == [{"log-id": "a-17", "blob": b"\x00\x01"}]


def test_what_is_attached_survives_a_declined_checkpoint() -> None:
    counter = Counter()
    counter.refuses = ValueError("no")
    rig = Rig(participants=(counter,)).start()
    rig.coordinator.attach("log-id", 17)
    rig.advance()
    rig.batch(0)
    counter.refuses = None
    rig.start()
    rig.advance()
    rig.batch(0)
    rig.advance()
    assert [each.extra for each in rig.ledger.completed] == [{"log-id": 17}]


def test_what_cannot_be_stored_cannot_be_attached() -> None:
    with pytest.raises(MilepostError, match="log-id"):
        Rig().coordinator.attach("log-id", object())


def test_a_commit_of_sparks_that_hangs_fails_the_job_and_is_not_told_as_aborted() -> None:
    counter = Counter()
    rig = Rig(participants=(counter,)).start()
    rig.advance()
    rig.coordinator.seal(CheckpointId(0), seal_report())
    rig.clock.seconds += 60
    rig.coordinator.observe(None)
    assert "has not committed it within 60 s" in str(rig.coordinator.failure)
    rig.ledger.commits.add(0)
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    assert [each.checkpoint_id for each in rig.ledger.completed] == [0], "it came in the last moment"
    assert counter.events == ["snapshot 0", "complete 0"]


def test_a_checkpoint_to_end_with_is_told_apart_from_one_that_was_only_asked_for() -> None:
    rig = Rig().start()
    rig.coordinator.trigger()
    last = rig.coordinator.trigger(trigger=Trigger.SYNC_SAVEPOINT)
    rig.advance()
    assert rig.batch(0) == ""
    rig.advance()
    assert last.result(timeout=0).trigger is Trigger.SYNC_SAVEPOINT


def test_late_records_add_up_from_checkpoint_to_checkpoint() -> None:
    rig = Rig()
    rig.coordinator.start(rig.gate, replace(checkpoint(4), late_total={"orders": 500}))
    for number, late in ((5, {}), (6, {"orders": 7, "others": 1})):
        rig.advance(10)
        assert rig.batch(number, late=late, rejected={"MALFORMED": 2}) == ""
        rig.advance()
    quiet, noisy = rig.ledger.completed
    assert (quiet.late, quiet.late_total) == ({}, {"orders": 500})
    assert (noisy.late, noisy.late_total) == ({"orders": 7, "others": 1}, {"orders": 507, "others": 1})
    assert [sealed.checkpoint_id for sealed in rig.ledger.sealed] == [6], "a death must not lose the count"
    assert rig.coordinator.stats.run.rejected == {"MALFORMED": 4}


def test_late_records_of_a_declined_checkpoint_do_not_count() -> None:
    counter = Counter()
    counter.refuses = RuntimeError("no")
    rig = Rig(participants=(counter,), tolerable=1).start()
    rig.advance()
    assert rig.batch(0, late={"orders": 7}) != ""
    rig.coordinator.stop(Cause(FailureReason.TASK_FAILURE))
    counter.refuses = None
    rig.start()
    assert rig.batch(0, late={"orders": 7}) == ""
    rig.advance()
    assert rig.ledger.completed[0].late_total == {"orders": 7}
    assert (rig.coordinator.stats.run.completed, rig.coordinator.stats.run.totals["rows"]) == (1, 5)


@pytest.mark.parametrize(("job_id", "rows"), [("job", 5), ("another", 0), ("", 0)])
def test_a_checkpoint_that_a_start_completes_counts_for_the_run_that_wrote_it(job_id: str, rows: int) -> None:
    rig = Rig()
    acks = seal_report().acknowledgements
    rig.coordinator.recovered(replace(checkpoint(3), job_id=job_id, acknowledgements=acks))
    assert (rig.coordinator.stats.completed, rig.coordinator.stats.run.totals["rows"]) == (1, rows)


def test_a_refused_trigger_is_counted_once_per_reason_however_often_it_is_tried() -> None:
    rig = Rig(schedule=CheckpointSchedule(100, 50)).start()
    rig.advance()
    rig.coordinator.trigger()
    for _ in range(3):
        rig.advance()
    assert rig.coordinator.stats.refused_triggers == {FailureReason.TOO_MANY_CHECKPOINT_REQUESTS: 1}


def test_acknowledgements_of_participants_are_counted_by_result() -> None:
    rig = Rig(participants=(Counter(),)).start()
    rig.advance()
    rig.batch(0)
    assert rig.coordinator.stats.acknowledgements == {AckResult.SUCCESS: 1}
