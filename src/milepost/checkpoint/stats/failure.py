"""How a failed checkpoint is reported: the entry in the history, and the error for its requests."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from milepost.checkpoint.model import (
    ENGINE,
    CheckpointId,
    FailedBy,
    FailedCheckpoint,
    FailureReason,
    PendingCheckpoint,
)
from milepost.checkpoint.store.unwritable import storage_error
from milepost.errors import (
    CheckpointError,
    FencedError,
    JobFailedError,
    MilepostError,
    SnapshotDeclined,
    SnapshotExpired,
    TopicRecreatedError,
    WriteExpiredError,
)
from milepost.sentence import capitalized

NOT_OF_THE_CHECKPOINT = (
    FailureReason.TASK_FAILURE,
    FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN,
    FailureReason.CHECKPOINT_COORDINATOR_SUSPEND,
)


_RESUMES = "The job resumes from the checkpoint before it"
_FIXES = {
    FailureReason.CHECKPOINT_EXPIRED: f"Check that the sink answers, or raise checkpointing.timeout. {_RESUMES}"
}
_TRACEBACK = "Traceback (most recent call last):"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a checkpoint ends without being complete."""

    reason: FailureReason
    detail: str = ""
    failed_by: tuple[FailedBy, ...] = ()
    error: MilepostError | None = None
    """What the job fails of, where that is more than the failed checkpoint."""

    def map_text(self, change: Callable[[str], str]) -> Cause:
        """Return the same with what is stored and shown of it changed, for example with secrets masked."""
        mapped = (
            replace(each, sentence=change(each.sentence), traceback=change(each.traceback))
            for each in self.failed_by
        )
        return replace(self, detail=change(self.detail), failed_by=tuple(mapped))


def cause_of(error: Exception) -> Cause:
    """Return the cause that an error at the seal or later is."""
    if isinstance(error, OSError):
        error = storage_error(error)
    known = error if isinstance(error, MilepostError) else None
    return Cause(reason_of(error), _detail(error), _blamed(error, ()), known)


def cause_of_task(error: JobFailedError) -> Cause:
    """Return the cause that a failed batch is; the job fails of it by itself, unless the checkpoint's time was over."""
    is_late = isinstance(error, WriteExpiredError)
    reason = FailureReason.CHECKPOINT_EXPIRED if is_late else FailureReason.TASK_FAILURE
    return Cause(reason, _first_line(error.what), _blamed(error, (ENGINE,)))


def expired(pending: PendingCheckpoint, timeout: float) -> Cause:
    """Return the cause that a checkpoint is which was not acknowledged in time."""
    missing = sorted(pending.missing)
    detail = f"not within {timeout:g} s: {', '.join(missing) or 'the engine'}"
    sentence = f"did not acknowledge within {timeout:g} s"
    by = tuple(FailedBy(participant=name, sentence=sentence) for name in missing or [ENGINE])
    return Cause(FailureReason.CHECKPOINT_EXPIRED, detail, by)


def failure_of(failed: FailedCheckpoint) -> CheckpointError:
    """Return the error for the requests of a failed checkpoint."""
    tracebacks = (each.traceback for each in failed.failed_by)
    return CheckpointError(
        f"Checkpoint {failed.checkpoint_id} failed ({failed.reason.name}): {failed.reason.sentence}",
        why="\n".join(part for part in (failed.detail, *tracebacks) if part),
        fix=_FIXES.get(failed.reason, _RESUMES),
    )


def failed(pending: PendingCheckpoint, cause: Cause, at: datetime) -> FailedCheckpoint:
    """Return the end of a checkpoint that was aborted."""
    return FailedCheckpoint(
        checkpoint_id=pending.checkpoint_id,
        trigger=pending.trigger,
        triggered_at=pending.triggered_at,
        failed_at=at,
        reason=cause.reason,
        detail=cause.detail,
        acknowledged=len(pending.acknowledged),
        waiting_for=len(pending.waiting_for),
        acknowledgements=tuple(pending.acknowledged.values()),
        missing=tuple(sorted(pending.missing)),
        failed_by=cause.failed_by,
    )


def reason_of(error: Exception) -> FailureReason:
    """Return Flink's name for what went wrong at the seal."""
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
    if fault.endswith("was deleted"):
        return deleted(fault)
    return TopicRecreatedError(
        f"A topic is not the one the job began with (TOPIC_RECREATED): {fault}",
        why="the offsets of the checkpoint mean nothing in the new topic",
        fix="Run with --fresh: the new topic is read into the same table, with versions above those that are there",
    )


def fenced(fault: str) -> FencedError:
    """Return the error for a sink that another job has taken over."""
    return FencedError(
        fault,
        why="its versions are above those of this job, so nothing this job writes from now on would be visible",
        fix="Stop one of the two jobs. To continue with this one, start it again: its versions are then above the "
        "other's",
    )


def deleted(fault: str) -> TopicRecreatedError:
    """Return the error for a topic that is gone: one that comes back under its name is another topic."""
    return TopicRecreatedError(
        f"{capitalized(fault)} (TOPIC_RECREATED)",
        why="the job cannot resume: the offsets of its checkpoint belong to the topic that is gone",
        fix="Remove the topic from source.kafka.topics and begin with another checkpointing.dir; or create it again "
        "and run with --fresh, which reads it into the same table, with versions above those that are there",
    )


def unsealable(checkpoint_id: CheckpointId, why: str) -> CheckpointError:
    """Return the error for a seal that is too late or too early."""
    return CheckpointError(
        f"Checkpoint {checkpoint_id} was not sealed",
        why=why,
        fix="The job resumes from the previous checkpoint",
    )


def uncommitted(checkpoint_id: CheckpointId, timeout: float) -> CheckpointError:
    """Return the error for a fully acknowledged batch that Spark does not commit."""
    return CheckpointError(
        f"Checkpoint {checkpoint_id} was sealed, and Spark has not committed it within {timeout:g} s",
        why="the file system of checkpointing.dir does not answer, or Spark's driver is stuck",
        fix="Check the file system; the job resumes from the newest completed checkpoint",
    )


def refusal(reason: FailureReason) -> CheckpointError:
    """Return the error for a checkpoint that was not triggered."""
    return CheckpointError(
        f"No checkpoint was triggered ({reason.name}): {reason.sentence}",
        fix="Ask again when the job is running",
    )


def _blamed(error: Exception, otherwise: tuple[str, ...]) -> tuple[FailedBy, ...]:
    """Return the participants that an error names, each with its sentence and the frames of its code."""
    named = error.participants if isinstance(error, JobFailedError) else ()
    if isinstance(error, SnapshotExpired):
        named = error.hanging or named
    return tuple(
        FailedBy(participant=name, sentence=_detail(error), traceback=_frames(error))
        for name in named or otherwise
    )


def _detail(error: Exception) -> str:
    """Return an error without the frames of the user's code: what it raised is enough of a sentence."""
    if not isinstance(error, MilepostError):
        return str(error)
    if _TRACEBACK not in error.why + error.what:
        return str(error)
    return f"{_first_line(error.what)}: {_raised(error)}"


def _raised(error: MilepostError) -> str:
    """Return the line with the exception of the user's code."""
    if error.__cause__ is not None:
        report = traceback.TracebackException.from_exception(error.__cause__, limit=0)
        return _first_line("".join(report.format_exception_only()))
    return _first_line(_frames(error).splitlines()[-1])


def _frames(error: Exception) -> str:
    """Return the traceback in an error, if there is one."""
    if not isinstance(error, MilepostError):
        return ""
    text = error.why if _TRACEBACK in error.why else error.what
    return text[text.index(_TRACEBACK) :] if _TRACEBACK in text else ""


def _first_line(text: str) -> str:
    # Not shortened: text that is cut before secrets are masked may show half of one.
    return text.strip().partition("\n")[0].rstrip(":")
