"""The job as routes see it: read from memory, so that no request reaches Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import (
    AckResult,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    PendingCheckpoint,
    Trigger,
)
from milepost.checkpoint.stats.counts import (
    CheckpointStats,
    Ended,
    RunCounts,
    Summary,
    summarize,
)
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import ExceptionEntry, History
from milepost.checkpoint.store.store import Store
from milepost.config import Config, KafkaSource
from milepost.errors import MilepostError
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.view.monitor import Monitor


class CheckpointsInMemory(Protocol):
    """The part of `checkpoint.coordinator.CheckpointCoordinator` that the REST interface uses."""

    @property
    def changed(self) -> threading.Condition:
        """The lock to hold while reading the statistics."""

    @property
    def stats(self) -> CheckpointStats:
        """Counts and recent history."""

    @property
    def pending(self) -> PendingCheckpoint | None:
        """The checkpoint in flight."""


class RunningJob(Protocol):
    """The part of `job.supervisor.Job` that the REST interface uses; no method blocks, and all are thread-safe."""

    @property
    def job_id(self) -> str:
        """The id of this run."""

    @property
    def status(self) -> JobStatus:
        """The current status."""

    @property
    def error(self) -> MilepostError | None:
        """The error that the job failed with."""

    @property
    def restarts(self) -> int:
        """The number of restarts, including those that failed to start."""

    @property
    def moved_at(self) -> Mapping[JobStatus, datetime]:
        """When the job last entered each status."""

    @property
    def latest_progress(self) -> Progress | None:
        """The progress that the job's own thread recorded last."""

    @property
    def counters(self) -> JobCounters:
        """The counters of the job."""

    @property
    def checkpoints(self) -> CheckpointsInMemory:
        """Its checkpoints."""

    def trigger_checkpoint(self) -> Future[CompletedCheckpoint]:
        """Trigger a checkpoint."""

    def trigger_savepoint(self, directory: str | None = None) -> Future[Any]:
        """Trigger a savepoint; the result of the future has a `path`."""

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Any]:
        """Stop the job with a savepoint; the result of the future has a `path`."""

    def cancel(self) -> None:
        """Cancel the job at the next boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """A consistent copy of the statistics of a job's checkpoints."""

    pending: PendingCheckpoint | None
    history: tuple[Ended, ...]
    """Newest first."""
    completed: int
    failed: int
    failures: Mapping[FailureReason, int] = field(default_factory=dict)
    """The failed ones by reason."""
    acknowledgements: Mapping[AckResult, int] = field(default_factory=dict)
    """The acknowledgements of Python participants in this process, by result."""
    refused_triggers: Mapping[FailureReason, int] = field(default_factory=dict)
    """The checkpoints that did not begin when they were due or requested in this process, by reason."""
    restored: CompletedCheckpoint | None
    restored_at: datetime | None
    restores: int
    latest_completed: CompletedCheckpoint | None
    latest_savepoint: CompletedCheckpoint | None
    latest_failed: FailedCheckpoint | None
    durations: Summary
    sizes: Summary
    run: RunCounts = field(default_factory=RunCounts)
    """The totals of the checkpoints of this run."""
    savepoints: Mapping[tuple[int, datetime], str] = field(default_factory=dict)
    """Paths of savepoints, by the id and the completion time of their checkpoint."""

    @property
    def newest(self) -> CompletedCheckpoint | None:
        """The checkpoint that a restart resumes from."""
        return self.latest_completed or self.restored

    def count_late(self, source: KafkaSource) -> int:
        """Return how many late records of a source were dropped, up to the newest checkpoint."""
        counts = self.newest.late_total if self.newest else {}
        return sum(count for topic, count in counts.items() if source.reads(topic))

    def find(self, checkpoint_id: int) -> Ended | PendingCheckpoint | None:
        """Return a recent checkpoint by its id."""
        known = (*((self.pending,) if self.pending else ()), *self.history)
        return next((each for each in known if each.checkpoint_id == checkpoint_id), None)


@dataclass(slots=True)
class JobView:
    """A job with its configuration and its files."""

    job: RunningJob
    config: Config
    read_only_reason: str | None = None
    """Why the job cannot be changed here, whatever the token; None if it can."""
    monitor: Monitor = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _summaries: tuple[int, Summary, Summary] = (0, Summary(), Summary())

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.job, self.config)

    def note(self) -> str | None:
        """Return a notice for the top of every page, if there is one."""
        return None

    def now(self) -> datetime:
        """Return the time of a response."""
        return utc_now()

    def checkpoints(self) -> Checkpoints:
        """Return the current statistics of the checkpoints."""
        coordinator = self.job.checkpoints
        with coordinator.changed:
            stats = coordinator.stats
            history = (*reversed(stats.history),)
            checkpoints = Checkpoints(
                pending=coordinator.pending,
                history=history,
                completed=stats.completed,
                failed=stats.failed,
                failures=dict(stats.failures),
                acknowledgements=dict(stats.acknowledgements),
                refused_triggers=dict(stats.refused_triggers),
                restored=stats.restored,
                restored_at=self.job.moved_at.get(JobStatus.RUNNING),
                restores=stats.restores,
                latest_completed=stats.latest_completed,
                latest_savepoint=stats.latest_savepoint,
                latest_failed=stats.latest_failed,
                durations=Summary(),
                sizes=Summary(),
                run=stats.run.copy(),
            )
            samples = (
                None
                if self._has_summaries(checkpoints.completed)
                else (tuple(stats.durations), tuple(stats.sizes))
            )
        return self._with_summaries(checkpoints, samples)

    def checkpoints_with_savepoints(self) -> Checkpoints:
        """Return the statistics with the paths of the savepoints among the checkpoints."""
        checkpoints = self.checkpoints()
        shown = (*checkpoints.history, checkpoints.latest_savepoint, checkpoints.restored)
        if not any(each is not None and is_savepoint(each) for each in shown):
            return checkpoints
        found = self.monitor.savepoints.savepoints().values()
        return replace(
            checkpoints, savepoints={(each.checkpoint_id, each.taken_at): each.path for each in found}
        )

    def read_manifest(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a completed checkpoint from its manifest."""
        return CheckpointFiles(self._store()).get(checkpoint_id)

    def attempts(self, checkpoint_id: int) -> list[Ended]:
        """Return the ended attempts at a checkpoint from the files, newest first."""
        events: list[Ended] = list(History(self._store()).of_checkpoint(checkpoint_id))
        stored = self.read_manifest(checkpoint_id)
        if stored is None:
            return events
        # The history has no details; if --fresh reused an id, the manifest is that of the newest attempt.
        return [stored if each.triggered_at == stored.triggered_at else each for each in events] or [stored]

    def ended_checkpoints(self) -> Iterator[Ended]:
        """Yield the ended checkpoints in the history, newest first."""
        events = History(self._store()).events()
        return (event for event in events if isinstance(event, CompletedCheckpoint | FailedCheckpoint))

    def exceptions(self) -> list[ExceptionEntry]:
        """Return the failures of the newest attempts, newest first."""
        return History(self._store()).exceptions()

    def plan(self) -> dict[str, Any] | None:
        """Return the start-up plan."""
        return History(self._store()).plan()

    def _store(self) -> Store:
        return Store.at(self.config.checkpointing.dir)

    def _has_summaries(self, completed: int) -> bool:
        return self._summaries[0] == completed

    def _with_summaries(
        self, checkpoints: Checkpoints, samples: tuple[tuple[int, ...], tuple[int, ...]] | None
    ) -> Checkpoints:
        """Sort the samples once per checkpoint, not once per request."""
        with self._lock:
            if samples is not None:
                self._summaries = (checkpoints.completed, summarize(samples[0]), summarize(samples[1]))
            _, durations, sizes = self._summaries
        return replace(checkpoints, durations=durations, sizes=sizes)


def is_savepoint(checkpoint: Ended | PendingCheckpoint) -> bool:
    """Return whether a checkpoint was taken for a savepoint."""
    return checkpoint.trigger in (Trigger.SAVEPOINT, Trigger.SYNC_SAVEPOINT)
