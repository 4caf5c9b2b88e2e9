"""The states of a job under Flink's names, and the transitions between them."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """The state of a job."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    SUSPENDED = "SUSPENDED"
    """The driver died without recording an end. The job can be resumed.

    A running job never has this state: it is derived later, from the checkpoint directory.
    """

    @property
    def is_terminal(self) -> bool:
        """Return whether a job never leaves this state."""
        return not TRANSITIONS[self]


TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.CREATED: frozenset({JobStatus.RUNNING, JobStatus.FAILED, JobStatus.CANCELED}),
    JobStatus.RUNNING: frozenset(
        {JobStatus.RESTARTING, JobStatus.CANCELLING, JobStatus.FINISHED, JobStatus.FAILED}
    ),
    JobStatus.RESTARTING: frozenset({JobStatus.RUNNING, JobStatus.CANCELED, JobStatus.FAILED}),
    JobStatus.CANCELLING: frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
    JobStatus.FAILED: frozenset(),
    JobStatus.FINISHED: frozenset(),
    JobStatus.CANCELED: frozenset(),
    JobStatus.SUSPENDED: frozenset(),
}


def transition(current: JobStatus, target: JobStatus) -> JobStatus:
    """Return the target state; raise AssertionError if a job cannot switch to it from the current one."""
    if target not in TRANSITIONS[current]:
        raise AssertionError(f"A job cannot switch from {current.value} to {target.value}")
    return target
