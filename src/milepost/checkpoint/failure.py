"""How a checkpoint that does not come about is told: the entry in the history, and the error for whoever waits."""

from __future__ import annotations

from datetime import datetime

from milepost.checkpoint.model import CheckpointId, FailedCheckpoint, FailureReason, PendingCheckpoint
from milepost.errors import (
    CheckpointError,
    FencedError,
    SnapshotDeclined,
    SnapshotExpired,
    TopicRecreatedError,
)

NOT_OF_THE_CHECKPOINT = (
    FailureReason.TASK_FAILURE,
    FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN,
    FailureReason.CHECKPOINT_COORDINATOR_SUSPEND,
)


def failure_of(failed: FailedCheckpoint) -> CheckpointError:
    """Return the error that a failed checkpoint is to whoever waits for it."""
    return CheckpointError(
        f"Checkpoint {failed.checkpoint_id} failed ({failed.reason.name}): {failed.reason.sentence}",
        why=failed.detail,
        fix="The job goes on from the checkpoint before it",
    )


def failed(pending: PendingCheckpoint, reason: FailureReason, detail: str, at: datetime) -> FailedCheckpoint:
    """Return the end of a checkpoint that was aborted."""
    return FailedCheckpoint(
        checkpoint_id=pending.checkpoint_id,
        trigger=pending.trigger,
        triggered_at=pending.triggered_at,
        failed_at=at,
        reason=reason,
        detail=detail,
        acknowledged=len(pending.acknowledged),
        waiting_for=len(pending.waiting_for),
    )


def reason_of(error: Exception) -> FailureReason:
    """Return Flink's word for what went wrong at the seal."""
    for kind, reason in (
        (SnapshotDeclined, FailureReason.CHECKPOINT_DECLINED),
        (SnapshotExpired, FailureReason.CHECKPOINT_EXPIRED),
        (FencedError, FailureReason.FENCED),
        (TopicRecreatedError, FailureReason.TOPIC_RECREATED),
    ):
        if isinstance(error, kind):
            return reason
    return FailureReason.FINALIZE_CHECKPOINT_FAILURE


def recreated(fault: str) -> TopicRecreatedError:
    """Return the error for a topic that is not the one the job began with."""
    return TopicRecreatedError(
        f"A topic is not the one the job began with (TOPIC_RECREATED): {fault}",
        why="the offsets of the checkpoint mean nothing in the new topic",
        fix="Run with --fresh: the new topic is read into the same table, with versions above those that are there",
    )


def unsealable(checkpoint_id: CheckpointId, why: str) -> CheckpointError:
    """Return the error for a seal that comes too late, or too early."""
    return CheckpointError(
        f"Checkpoint {checkpoint_id} was not sealed",
        why=why,
        fix="The job goes on from the checkpoint before it",
    )


def uncommitted(checkpoint_id: CheckpointId, timeout: float) -> CheckpointError:
    """Return the error for a batch that everyone has acknowledged and Spark does not commit."""
    return CheckpointError(
        f"Checkpoint {checkpoint_id} was sealed, and Spark has not committed it within {timeout:g} s",
        why="the file system of checkpointing.dir does not answer, or Spark's driver is stuck",
        fix="Look at the file system; the job goes on from the newest checkpoint that is there",
    )


def refusal(reason: FailureReason) -> CheckpointError:
    """Return the error for a checkpoint that was not begun."""
    return CheckpointError(
        f"No checkpoint was begun ({reason.name}): {reason.sentence}",
        fix="Ask again when the job is running",
    )
