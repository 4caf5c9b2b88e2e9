"""How a checkpoint that does not come about is told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.checkpoint.rig import START

from milepost.checkpoint import failure
from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)
from milepost.errors import (
    CheckpointError,
    FencedError,
    LeaseHeldError,
    MilepostError,
    ParticipantError,
    SnapshotDeclined,
    SnapshotExpired,
    TopicRecreatedError,
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
    failed = failure.failed(PENDING, FailureReason.CHECKPOINT_EXPIRED, "not within 60 s", at)
    assert (failed.checkpoint_id, failed.trigger) == (7, Trigger.ON_DEMAND)
    assert (failed.triggered_at, failed.failed_at) == (START, at)
    assert (failed.reason, failed.detail) == (FailureReason.CHECKPOINT_EXPIRED, "not within 60 s")
    assert (failed.acknowledged, failed.waiting_for) == (1, 3)


@pytest.mark.parametrize("reason", list(FailureReason), ids=lambda reason: reason.name)
def test_whoever_waits_hears_the_reason_and_the_detail(reason: FailureReason) -> None:
    error = failure.failure_of(failure.failed(PENDING, reason, "the ledger does not balance", START))
    for part in ("7", reason.name, reason.sentence, "the ledger does not balance"):
        assert part in str(error)


@pytest.mark.parametrize("reason", list(FailureReason), ids=lambda reason: reason.name)
def test_a_refusal_says_why_none_was_begun(reason: FailureReason) -> None:
    error = failure.refusal(reason)
    assert reason.name in str(error)
    assert reason.sentence in str(error)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (failure.recreated("orders has a new id"), TopicRecreatedError, False),
        (failure.unsealable(CheckpointId(7), "orders has a new id"), CheckpointError, True),
    ],
)
def test_what_is_told_of_a_seal_that_is_refused(
    error: MilepostError, kind: type[MilepostError], retryable: bool
) -> None:
    assert type(error) is kind
    assert "orders has a new id" in str(error)
    assert error.fix
    assert error.retryable is retryable


@pytest.mark.parametrize("reason", failure.NOT_OF_THE_CHECKPOINT, ids=lambda reason: reason.name)
def test_the_end_of_the_job_is_no_refusal_of_a_trigger(reason: FailureReason) -> None:
    assert not reason.is_preflight
