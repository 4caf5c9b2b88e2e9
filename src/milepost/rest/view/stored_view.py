"""A job read from its checkpoint directory, because it has ended or another process runs it.

Read-only: nothing here writes, locks or starts anything.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from milepost.checkpoint.lease.epoch import (
    Owner,
    is_alive,
    newest_epoch,
    owner_of,
)
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.store.history import Event, ExceptionEntry, JobEvent
from milepost.checkpoint.store.history_follower import HistoryFollower
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.errors import MilepostError, NotReachableError
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress, with_totals
from milepost.job.status import JobStatus
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.job_view import JobView

NO_CHANGES = "This is the history of a job; it is read-only."
_EVERY = 1.0


class DriverState(Enum):
    """Whether the process that last ran the job is alive."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"
    """It ran on another host."""


def effective_status(last: JobStatus, driver: DriverState) -> JobStatus:
    """Return the last reported status, or SUSPENDED if the driver is gone and can report no other."""
    return JobStatus.SUSPENDED if driver is DriverState.GONE and not last.is_terminal else last


def find_driver_state(owner: Owner | None, host: str, is_alive: Callable[[int], bool]) -> DriverState:
    """Return the state of an owner, as far as this host can tell."""
    if owner is None or owner.host != host:
        return DriverState.UNKNOWN
    return DriverState.ALIVE if is_alive(owner.pid) else DriverState.GONE


@dataclass(slots=True)
class StoredCheckpoints:
    """The checkpoints in the history; files never show one in flight."""

    stats: CheckpointStats
    changed: threading.Condition
    pending: None = None


class StoredJob:
    """The newest run in a checkpoint directory, read again once a second. Implements `RunningJob`."""

    error: MilepostError | None = None

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the history; a directory without one is refused."""
        self.counters = JobCounters()
        self._store = store
        self._clock = clock
        self._follower = HistoryFollower(store)
        self._changed = threading.Condition()
        self._checkpoints = StoredCheckpoints(CheckpointStats(), self._changed)
        self._state_events: list[JobEvent] = []
        self._last_event_at: datetime | None = None
        self._driver = DriverState.UNKNOWN
        self._owner: Owner | None = None
        self._read_at: float | None = None
        self._refresh()
        if not self._state_events:
            raise NotReachableError(
                f"{store.address('')} does not contain the history of a job",
                why="it does not record a start: it was written by Spark alone, or files are missing",
                fix="Pass the checkpoint directory of a job that has run, or its pipeline's FILE",
            )

    @property
    def job_id(self) -> str:
        """The id of the newest run."""
        self._refresh()
        return self._state_events[-1].job_id

    @property
    def status(self) -> JobStatus:
        """The last reported status, or SUSPENDED if its driver is gone."""
        self._refresh()
        return effective_status(JobStatus(self._state_events[-1].status), self._driver)

    @property
    def restarts(self) -> int:
        """The number of restarts, including those that failed to start."""
        self._refresh()
        return sum(move.status == JobStatus.RESTARTING.value for move in self._state_events)

    @property
    def moved_at(self) -> Mapping[JobStatus, datetime]:
        """When the job last entered each status; SUSPENDED starts at the last event of the lost driver."""
        status = self.status
        before = (None, *(move.status for move in self._state_events))
        moves = zip(before, self._state_events, strict=False)
        moved = {JobStatus(move.status): move.at for last, move in moves if last != move.status}
        if status is JobStatus.SUSPENDED and self._last_event_at is not None:
            moved[status] = self._last_event_at
        return moved

    @property
    def latest_progress(self) -> Progress:
        """The progress according to its checkpoints."""
        self._refresh()
        newest = self._checkpoints.stats.newest
        position = {
            topic: parts for source in (newest.sources if newest else ()) for topic, parts in source.items()
        }
        progress = Progress(
            checkpoint_id=None,
            running_batch=None,
            tasks=0,
            acknowledged=0,
            finished=self.status.is_terminal,
            position=position,
        )
        return with_totals(progress, self._checkpoints.stats)

    @property
    def checkpoints(self) -> StoredCheckpoints:
        """Its checkpoints."""
        self._refresh()
        return self._checkpoints

    @property
    def lost_driver(self) -> ExceptionEntry | None:
        """The exception to show for a driver that ended without reporting a status."""
        if self.status is not JobStatus.SUSPENDED:
            return None
        last = self._state_events[-1]
        heard = self._last_event_at or last.at
        newest = self._checkpoints.stats.latest_completed
        start = f"checkpoint {newest.checkpoint_id}" if newest else "the beginning"
        return ExceptionEntry(
            at=heard,
            job_id=last.job_id,
            attempt=self.restarts + 1,
            what="The driver ended without reporting a status",
            why=f"{self._owner} no longer runs; the job last reported {last.status} at "
            f"{heard.isoformat(timespec='seconds')}. The driver or its machine was killed",
            fix=f"Run it again: it resumes from {start}",
            status=JobStatus.SUSPENDED.value,
        )

    def trigger_checkpoint(self) -> Future[CompletedCheckpoint]:
        """Refuse."""
        raise Refusal(403, NO_CHANGES)

    def trigger_savepoint(self, directory: str | None = None) -> Future[Any]:
        """Refuse."""
        raise Refusal(403, NO_CHANGES)

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Any]:
        """Refuse."""
        raise Refusal(403, NO_CHANGES)

    def cancel(self) -> None:
        """Refuse."""
        raise Refusal(403, NO_CHANGES)

    def _refresh(self) -> None:
        """Read new events, at most once a second."""
        with self._changed:
            now = self._clock()
            if self._read_at is not None and now - self._read_at < _EVERY:
                return
            self._read_at = now
            for event in self._follower.news():
                self._add(event)
            self._owner = owner_of(self._store, newest_epoch(self._store))
            self._driver = find_driver_state(self._owner, socket.gethostname(), is_alive)

    def _add(self, event: Event) -> None:
        if isinstance(event, JobEvent):
            if self._state_events and self._state_events[-1].job_id != event.job_id:
                self._state_events = []
                self._checkpoints.stats.begin_run()
            self._state_events.append(event)
            self._last_event_at = event.at
            return
        self._checkpoints.stats.add(event)
        self._last_event_at = event.failed_at if isinstance(event, FailedCheckpoint) else event.completed_at


class StoredView(JobView):
    """A stored job with its configuration and its files."""

    def note(self) -> str:
        """Return how the job ended, or that it is unknown."""
        return describe_job(self._stored)

    def exceptions(self) -> list[ExceptionEntry]:
        """Return the failures of the newest attempts, newest first, including that of a lost driver."""
        lost_driver = self._stored.lost_driver
        known = super().exceptions()
        return [lost_driver, *known] if lost_driver is not None else known

    @property
    def _stored(self) -> StoredJob:
        assert isinstance(self.job, StoredJob)  # see `open_stored_view`
        return self.job


def open_stored_view(store: Store, config: Config) -> StoredView:
    """Return the view of a checkpoint directory."""
    job = StoredJob(store)
    return StoredView(job, config, read_only_reason=NO_CHANGES)


def describe_job(job: StoredJob) -> str:
    """Return the notice for the top of every page."""
    status, lost_driver = job.status, job.lost_driver
    if lost_driver is not None:
        return f"History. {lost_driver}"
    if status.is_terminal:
        return f"History of a job that has ended: {status.value}."
    return f"History: the job last reported {status.value}. Its own address shows its current state."
