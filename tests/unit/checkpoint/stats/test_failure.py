"""How a checkpoint that does not come about is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.checkpoint.rig import START

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)
from milepost.checkpoint.stats import failure
from milepost.checkpoint.stats.failure import Cause
from milepost.errors import (
    CheckpointError,
    FencedError,
    JobFailedError,
    LeaseHeldError,
    MilepostError,
    ParticipantError,
    SnapshotDeclined,
    SnapshotExpired,
    StorageError,
    TopicRecreatedError,
    WriteExpiredError,
)

PENDING = PendingCheckpoint(
    checkpoint_id=CheckpointId(7),
    trigger=Trigger.ON_DEMAND,
    triggered_at=START,
    deadline=60.0,
    waiting_for=frozenset({"writer/0", "writer/1", "ledger"}),
    acknowledged={"writer/1": Acknowledgement(participant="writer/1", at=START)},
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SnapshotDeclined("no"), FailureReason.CHECKPOINT_DECLINED),
        (SnapshotExpired("late"), FailureReason.CHECKPOINT_EXPIRED),
        (FencedError("another"), FailureReason.FENCED),
        (TopicRecreatedError("new id"), FailureReason.TOPIC_RECREATED),
        (LeaseHeldError("held"), FailureReason.FINALIZE_CHECKPOINT_FAILURE),
        (ParticipantError("a participant"), FailureReason.FINALIZE_CHECKPOINT_FAILURE),
        (OSError(28, "No space left on device"), FailureReason.FINALIZE_CHECKPOINT_FAILURE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_flinks_word_for_what_went_wrong(error: Exception, expected: FailureReason) -> None:
    assert failure.reason_of(error) is expected


def test_the_entry_in_the_history() -> None:
    at = START + timedelta(seconds=3)
    failed = failure.failed(PENDING, Cause(FailureReason.CHECKPOINT_EXPIRED, "not within 60 s"), at)
    assert (failed.checkpoint_id, failed.trigger) == (7, Trigger.ON_DEMAND)
    assert (failed.triggered_at, failed.failed_at) == (START, at)
    assert (failed.reason, failed.detail) == (FailureReason.CHECKPOINT_EXPIRED, "not within 60 s")
    assert (failed.acknowledged, failed.waiting_for) == (1, 3)
    assert [ack.participant for ack in failed.acknowledgements] == ["writer/1"]
    assert failed.missing == ("ledger", "writer/0")


def test_whoever_declined_is_kept_by_name_with_its_frames_apart() -> None:
    try:
        raise ValueError("does not balance")
    except ValueError as raised:
        declined = SnapshotDeclined(
            "Checkpoint 7 was declined by participant 'ledger'",
            why='Traceback (most recent call last):\n  File "job.py", line 3\nValueError: does not balance',
            participants=["ledger"],
        )
        declined.__cause__ = raised
    cause = failure.cause_of(declined)
    assert cause.reason is FailureReason.CHECKPOINT_DECLINED
    assert cause.detail == "Checkpoint 7 was declined by participant 'ledger': ValueError: does not balance"
    (by,) = cause.failed_by
    assert (by.participant, by.sentence) == ("ledger", cause.detail)
    assert by.traceback.startswith("Traceback (most recent call last):")
    assert cause.error is declined
    failed = failure.failed(PENDING, cause, START)
    assert 'File "job.py"' in str(failure.failure_of(failed))


def test_what_is_stored_of_a_cause_holds_no_secret() -> None:
    declined = SnapshotDeclined(
        "declined",
        why="Traceback (most recent call last):\n  f(hunter2)\nE: hunter2",
        participants=["a"],
    )
    cause = failure.cause_of(declined).map_text(lambda text: text.replace("hunter2", "***"))
    assert "hunter2" not in f"{cause.detail}{cause.failed_by}"
    assert "***" in cause.failed_by[0].traceback


def test_of_those_that_did_not_return_only_who_hangs_is_to_blame() -> None:
    late = SnapshotExpired("late", participants=["a", "b"], hanging=["a"])
    assert [by.participant for by in failure.cause_of(late).failed_by] == ["a"]


def test_nobody_is_blamed_for_a_full_disk() -> None:
    assert failure.cause_of(OSError(28, "No space left on device")).failed_by == ()


def test_whoever_is_missing_at_the_timeout_is_named() -> None:
    cause = failure.expired(PENDING, 60)
    assert cause.detail == "not within 60 s: ledger, writer/0"
    assert [by.participant for by in cause.failed_by] == ["ledger", "writer/0"]
    everybody = replace(PENDING, waiting_for=frozenset({"writer/1"}))
    assert [by.participant for by in failure.expired(everybody, 60).failed_by] == ["engine"]


def test_a_failed_task_is_named_where_it_is_known() -> None:
    error = JobFailedError("The table is gone")
    assert [by.participant for by in failure.cause_of_task(error).failed_by] == ["engine"]
    error.participants = ("writer/1",)
    cause = failure.cause_of_task(error)
    assert (cause.detail, cause.failed_by[0].participant) == ("The table is gone", "writer/1")


def test_frames_of_a_transform_stay_apart_too() -> None:
    error = JobFailedError(
        "Python code of the pipeline raised:\nTraceback (most recent call last):\n  File x\nKeyError: 'id'"
    )
    (by,) = failure.cause_of_task(error).failed_by
    assert by.sentence == "Python code of the pipeline raised: KeyError: 'id'"
    assert by.traceback.endswith("KeyError: 'id'")


@pytest.mark.parametrize("reason", list(FailureReason), ids=lambda reason: reason.name)
def test_whoever_waits_hears_the_reason_and_the_detail(reason: FailureReason) -> None:
    error = failure.failure_of(failure.failed(PENDING, Cause(reason, "the ledger does not balance"), START))
    for part in ("7", reason.name, reason.sentence, "The ledger does not balance"):
        assert part in str(error)


def test_a_topic_that_is_gone_is_named_with_the_way_out() -> None:
    error = failure.recreated("topic orders was deleted")
    assert error.what == "Topic orders was deleted (TOPIC_RECREATED)"
    assert "--fresh" in error.fix
    assert not error.retryable


def test_a_write_that_had_no_time_is_an_expired_checkpoint() -> None:
    cause = failure.cause_of_task(WriteExpiredError("HBase did not answer within 4 s"))
    assert cause.reason is FailureReason.CHECKPOINT_EXPIRED
    told = failure.failure_of(failure.failed(PENDING, cause, START))
    assert "Checkpoint expired before completing" in told.what
    assert "HBase did not answer within 4 s" in told.why
    assert "checkpointing.timeout" in told.fix


def test_a_full_disk_is_told_as_one_and_not_as_a_number() -> None:
    cause = failure.cause_of(OSError(28, "No space left on device", "/data/orders/milepost/sealed/7.json"))
    assert cause.reason is FailureReason.FINALIZE_CHECKPOINT_FAILURE
    assert isinstance(cause.error, StorageError)
    assert "The directory /data/orders is full" in cause.detail
    assert "Errno" not in cause.detail


@pytest.mark.parametrize("reason", list(FailureReason), ids=lambda reason: reason.name)
def test_a_refusal_says_why_none_was_begun(reason: FailureReason) -> None:
    error = failure.refusal(reason)
    assert reason.name in str(error)
    assert reason.sentence in str(error)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (failure.recreated("its id is new"), TopicRecreatedError, False),
        (failure.unsealable(CheckpointId(7), "its id is new"), CheckpointError, True),
    ],
)
def test_what_is_told_of_a_seal_that_is_refused(
    error: MilepostError, kind: type[MilepostError], retryable: bool
) -> None:
    assert type(error) is kind
    assert "its id is new" in str(error).lower()
    assert error.fix
    assert error.retryable is retryable


@pytest.mark.parametrize("reason", failure.NOT_OF_THE_CHECKPOINT, ids=lambda reason: reason.name)
def test_the_end_of_the_job_is_no_refusal_of_a_trigger(reason: FailureReason) -> None:
    assert not reason.is_preflight
