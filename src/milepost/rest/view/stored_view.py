"""A job of which only its directory is left, or that another process runs: what its files tell, as routes see a job.

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
from milepost.rest.view.live_view import Served

NO_CHANGES = "This is the history of a job; nothing can be changed here."
_EVERY = 1.0


class Driver(Enum):
    """What can be told of the process that ran a job last."""

    ALIVE = "it runs"
    GONE = "it is no more"
    UNKNOWN = "it ran on another host"


def state_of(told: JobStatus, driver: Driver) -> JobStatus:
    """Return the state of a job from the last one it told, and from whether somebody could still tell another."""
    return JobStatus.SUSPENDED if driver is Driver.GONE and not told.is_terminal else told


def driver_of(owner: Owner | None, host: str, is_alive: Callable[[int], bool]) -> Driver:
    """Return what can be told of an owner from this host."""
    if owner is None or owner.host != host:
        return Driver.UNKNOWN
    return Driver.ALIVE if is_alive(owner.pid) else Driver.GONE


@dataclass(slots=True)
class StoredCheckpoints:
    """The checkpoints that a history tells of; none is in flight as far as files know."""

    stats: CheckpointStats
    changed: threading.Condition
    pending: None = None


class StoredJob:
    """What the files of a directory tell of its newest run; looked at again once a second. Implements `RunningJob`."""

    error: MilepostError | None = None

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the history once, and refuse a directory without one."""
        self.counters = JobCounters()
        self._store = store
        self._clock = clock
        self._follower = HistoryFollower(store)
        self._changed = threading.Condition()
        self._checkpoints = StoredCheckpoints(CheckpointStats(), self._changed)
        self._moves: list[JobEvent] = []
        self._heard_at: datetime | None = None
        self._driver = Driver.UNKNOWN
        self._owner: Owner | None = None
        self._looked_at: float | None = None
        self._look()
        if not self._moves:
            raise NotReachableError(
                f"{store.address('')} tells of no job",
                why="its history has no start of one: it was made by Spark alone, or the files are not all there",
                fix="Name the checkpoint directory of a job that has run, or its pipeline's FILE",
            )

    @property
    def job_id(self) -> str:
        """The id of the newest run."""
        self._look()
        return self._moves[-1].job_id

    @property
    def status(self) -> JobStatus:
        """The last state that it told, or SUSPENDED where its driver is gone."""
        self._look()
        return state_of(JobStatus(self._moves[-1].status), self._driver)

    @property
    def restarts(self) -> int:
        """How many restarts were decided, whether they came about or not."""
        self._look()
        return sum(move.status == JobStatus.RESTARTING.value for move in self._moves)

    @property
    def moved_at(self) -> Mapping[JobStatus, datetime]:
        """When it last came into each status; a driver that is gone was last heard of at its newest event."""
        status = self.status
        before = (None, *(move.status for move in self._moves))
        moves = zip(before, self._moves, strict=False)
        moved = {JobStatus(move.status): move.at for last, move in moves if last != move.status}
        if status is JobStatus.SUSPENDED and self._heard_at is not None:
            moved[status] = self._heard_at
        return moved

    @property
    def latest_progress(self) -> Progress:
        """What its checkpoints say of where it stood."""
        self._look()
        newest = self._checkpoints.stats.newest
        position = {
            topic: parts for source in (newest.sources if newest else ()) for topic, parts in source.items()
        }
        seen = Progress(
            checkpoint_id=None,
            running_batch=None,
            tasks=0,
            acknowledged=0,
            finished=self.status.is_terminal,
            position=position,
        )
        return with_totals(seen, self._checkpoints.stats)

    @property
    def checkpoints(self) -> StoredCheckpoints:
        """Its checkpoints."""
        self._look()
        return self._checkpoints

    @property
    def lost(self) -> ExceptionEntry | None:
        """What is to be said of a driver that ended without a word."""
        if self.status is not JobStatus.SUSPENDED:
            return None
        last = self._moves[-1]
        heard = self._heard_at or last.at
        newest = self._checkpoints.stats.latest_completed
        start = f"checkpoint {newest.checkpoint_id}" if newest else "where it began"
        return ExceptionEntry(
            at=heard,
            job_id=last.job_id,
            attempt=self.restarts + 1,
            what="The driver ended without a word",
            why=f"{self._owner} is gone; the job was {last.status} when it was last heard of, at "
            f"{heard.isoformat(timespec='seconds')}. It was killed, or its machine was",
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

    def _look(self) -> None:
        """Read what is new, at most once a second however many ask."""
        with self._changed:
            now = self._clock()
            if self._looked_at is not None and now - self._looked_at < _EVERY:
                return
            self._looked_at = now
            for event in self._follower.news():
                self._add(event)
            self._owner = owner_of(self._store, newest_epoch(self._store))
            self._driver = driver_of(self._owner, socket.gethostname(), is_alive)

    def _add(self, event: Event) -> None:
        if isinstance(event, JobEvent):
            if self._moves and self._moves[-1].job_id != event.job_id:
                self._moves = []
                self._checkpoints.stats.begin_run()
            self._moves.append(event)
            self._heard_at = event.at
            return
        self._checkpoints.stats.add(event)
        self._heard_at = event.failed_at if isinstance(event, FailedCheckpoint) else event.completed_at


class StoredServed(Served):
    """A stored job with its configuration and its files."""

    def note(self) -> str:
        """Return how the job ended, or that nobody knows."""
        return note_of(self._stored)

    def exceptions(self) -> list[ExceptionEntry]:
        """Return what ended the newest attempts, newest first; a driver that is gone could not write it down itself."""
        lost = self._stored.lost
        known = super().exceptions()
        return [lost, *known] if lost is not None else known

    @property
    def _stored(self) -> StoredJob:
        assert isinstance(self.job, StoredJob)  # `shown` makes it
        return self.job


def shown(store: Store, config: Config) -> StoredServed:
    """Return what a server shows of a directory."""
    job = StoredJob(store)
    return StoredServed(job, config, no_changes=NO_CHANGES)


def note_of(job: StoredJob) -> str:
    """Return what everybody who looks should know first."""
    status, lost = job.status, job.lost
    if lost is not None:
        return f"History. {lost}"
    if status.is_terminal:
        return f"History of a job that has ended: {status.value}."
    return (
        f"History: the job was {status.value} when it was last heard of; "
        "whether it still is, only its own address can say."
    )
