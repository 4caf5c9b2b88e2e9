"""The states of a job: Flink's words, and the one table of legal moves."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """Where a job stands."""

    CREATED = "CREATED"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    SUSPENDED = "SUSPENDED"
    """Its driver is gone without a word: nobody runs it, and it can be resumed. Only those who look later say so."""

    @property
    def is_terminal(self) -> bool:
        """Return whether a job in this state is over."""
        return not MOVES[self]


MOVES: dict[JobStatus, frozenset[JobStatus]] = {
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


def may_move(current: JobStatus, target: JobStatus) -> bool:
    """Return whether a job may go from one state to the other."""
    return target in MOVES[current]
