"""Decides; never acts.

Every function takes what was observed and returns what follows from it.
No clock, no files, no Spark: the current time is an argument, in seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from milepost.checkpoint.model import (
    Acknowledgement,
    AckResult,
    CheckpointId,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)

MAX_CONCURRENT = 1
"""Spark runs one batch after the other."""

_OF_THE_CHECKPOINT = frozenset(
    {
        FailureReason.CHECKPOINT_DECLINED,
        FailureReason.CHECKPOINT_EXPIRED,
        FailureReason.FINALIZE_CHECKPOINT_FAILURE,
        FailureReason.TRIGGER_CHECKPOINT_FAILURE,
    }
)


def refuse_trigger(
    trigger: Trigger,
    *,
    is_running: bool,
    is_stopping: bool,
    pending: int,
    pause_ends: float,
    now: float,
) -> FailureReason | None:
    """Return why a checkpoint may not start now, or None if it may.

    The pause applies to the interval only, not to requested checkpoints.
    """
    if is_stopping:
        return FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN
    if not is_running:
        return FailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING
    if pending >= MAX_CONCURRENT:
        return FailureReason.TOO_MANY_CHECKPOINT_REQUESTS
    if trigger is Trigger.PERIODIC and now < pause_ends:
        return FailureReason.MINIMUM_TIME_BETWEEN_CHECKPOINTS
    return None


def trigger_of(triggered: PendingCheckpoint | None, *, was_admitted: bool, was_wanted: bool) -> Trigger:
    """Return who began a batch that the engine now wants sealed.

    A batch that the gate let through without having been opened for it is one of a free-running job.
    """
    if not was_admitted:
        return Trigger.ENGINE
    return triggered.trigger if triggered is not None and was_wanted else Trigger.PERIODIC


def next_id(last: CheckpointId | None) -> CheckpointId:
    """Return the id of the checkpoint after the last one, which is Spark's next batch."""
    return CheckpointId(0 if last is None else last + 1)


def acknowledge(pending: PendingCheckpoint, ack: Acknowledgement) -> tuple[PendingCheckpoint, AckResult]:
    """Return the checkpoint after an acknowledgement, and what the acknowledgement was."""
    if ack.participant in pending.acknowledged:
        return pending, AckResult.DUPLICATE
    if ack.participant not in pending.waiting_for:
        return pending, AckResult.UNKNOWN
    return replace(pending, acknowledged={**pending.acknowledged, ack.participant: ack}), AckResult.SUCCESS


def is_expired(pending: PendingCheckpoint, now: float) -> bool:
    """Return whether a checkpoint has taken too long."""
    return now >= pending.deadline


def is_failure_of_checkpoint(reason: FailureReason) -> bool:
    """Return whether a reason counts against the tolerable failures; a failing task is the job's own failure."""
    return reason in _OF_THE_CHECKPOINT


def is_tolerable(failures_in_a_row: int, tolerable: int) -> bool:
    """Return whether the job continues after that many failed checkpoints, without a restart."""
    return failures_in_a_row <= tolerable


def beyond_retention(ids: Iterable[CheckpointId], keep: int) -> list[CheckpointId]:
    """Return the completed checkpoints that are no longer kept: all but the newest `keep`."""
    return sorted(ids)[:-keep]
