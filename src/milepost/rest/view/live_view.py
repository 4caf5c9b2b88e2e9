"""The job that a server serves, as its routes see it: read from memory, so that no question reaches Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import (
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
from milepost.rest.view.monitor import Watch


class CheckpointsInMemory(Protocol):
    """What `checkpoint.coordinator.CheckpointCoordinator` has and a face needs."""

    @property
    def changed(self) -> threading.Condition:
        """Held while the statistics are read."""

    @property
    def stats(self) -> CheckpointStats:
        """Counts and recent history."""

    @property
    def pending(self) -> PendingCheckpoint | None:
        """The checkpoint in flight."""


class RunningJob(Protocol):
    """What `job.supervisor.Job` has and a face needs; every method returns at once, from any thread."""

    @property
    def job_id(self) -> str:
        """The id of this run."""

    @property
    def status(self) -> JobStatus:
        """Where it stands."""

    @property
    def error(self) -> MilepostError | None:
        """What it failed of."""

    @property
    def restarts(self) -> int:
        """How many restarts were decided, whether they came about or not."""

    @property
    def moved_at(self) -> Mapping[JobStatus, datetime]:
        """When it last came into each status."""

    @property
    def latest_progress(self) -> Progress | None:
        """What its own thread saw last."""

    @property
    def counters(self) -> JobCounters:
        """What it counts of itself."""

    @property
    def checkpoints(self) -> CheckpointsInMemory:
        """Its checkpoints."""

    def trigger_checkpoint(self) -> Future[CompletedCheckpoint]:
        """Ask for a checkpoint now."""

    def trigger_savepoint(self, directory: str | None = None) -> Future[Any]:
        """Ask for a savepoint; the future's result has a `path`."""

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Any]:
        """Finish with a savepoint; the future's result has a `path`."""

    def cancel(self) -> None:
        """Stop at the next boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """The statistics of a job's checkpoints at one moment."""

    pending: PendingCheckpoint | None
    history: tuple[Ended, ...]
    """Newest first."""
    completed: int
    failed: int
    failures: Mapping[FailureReason, int] = field(default_factory=dict)
    """The failed ones by their reasons."""
    restored: CompletedCheckpoint | None
    restored_at: datetime | None
    restores: int
    latest_completed: CompletedCheckpoint | None
    latest_savepoint: CompletedCheckpoint | None
    latest_failed: FailedCheckpoint | None
    durations: Summary
    sizes: Summary
    run: RunCounts = field(default_factory=RunCounts)
    """What the checkpoints of this run add up to."""
    savepoints: Mapping[tuple[int, datetime], str] = field(default_factory=dict)
    """Where savepoints lie, by the checkpoint that they were taken of and when it completed."""

    @property
    def newest(self) -> CompletedCheckpoint | None:
        """The checkpoint that a restart would begin from."""
        return self.latest_completed or self.restored

    def late_of(self, source: KafkaSource) -> int:
        """Return how many records of a source were dropped because they were late, in the newest checkpoint's line."""
        counts = self.newest.late_total if self.newest else {}
        return sum(count for topic, count in counts.items() if source.reads(topic))

    def find(self, checkpoint_id: int) -> Ended | PendingCheckpoint | None:
        """Return the checkpoint of that id, if it is one of the newest."""
        known = (*((self.pending,) if self.pending else ()), *self.history)
        return next((each for each in known if each.checkpoint_id == checkpoint_id), None)


@dataclass(slots=True)
class Served:
    """A running job with its configuration and its files."""

    job: RunningJob
    config: Config
    no_changes: str | None = None
    """Why nothing can be changed here, whoever asks; None where it can."""
    watch: Watch = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _summaries: tuple[int, Summary, Summary] = (0, Summary(), Summary())

    def __post_init__(self) -> None:
        """Watch nothing yet."""
        self.watch = Watch(self.job, self.config)

    def note(self) -> str | None:
        """Return what everybody who looks should know first, if there is such a thing."""
        return None

    def now(self) -> datetime:
        """Return the time of an answer."""
        return utc_now()

    def checkpoints(self) -> Checkpoints:
        """Return the statistics of the checkpoints as they are now."""
        coordinator = self.job.checkpoints
        with coordinator.changed:
            stats = coordinator.stats
            history = (*reversed(stats.history),)
            seen = Checkpoints(
                pending=coordinator.pending,
                history=history,
                completed=stats.completed,
                failed=stats.failed,
                failures=dict(stats.failures),
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
                None if self._is_summarized(seen.completed) else (tuple(stats.durations), tuple(stats.sizes))
            )
        return self._summarized(seen, samples)

    def checkpoints_with_savepoints(self) -> Checkpoints:
        """Return the same with where the savepoints lie, if any is shown."""
        seen = self.checkpoints()
        shown = (*seen.history, seen.latest_savepoint, seen.restored)
        if not any(each is not None and is_savepoint(each) for each in shown):
            return seen
        lying = self.watch.shelf.savepoints().values()
        return replace(seen, savepoints={(each.checkpoint_id, each.taken_at): each.path for each in lying})

    def stored(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a completed checkpoint from its manifest."""
        return CheckpointFiles(self._store()).get(checkpoint_id)

    def attempts(self, checkpoint_id: int) -> list[Ended]:
        """Return the attempts at a checkpoint that have ended, newest first, from the files."""
        told: list[Ended] = list(History(self._store()).of_checkpoint(checkpoint_id))
        stored = self.stored(checkpoint_id)
        if stored is None:
            return told
        # The history has no details; of an id that came again with --fresh the manifest is that of the newest.
        return [stored if each.triggered_at == stored.triggered_at else each for each in told] or [stored]

    def ended(self) -> Iterator[Ended]:
        """Yield the checkpoints that have ended, newest first, as far as the history goes back."""
        events = History(self._store()).events()
        return (event for event in events if isinstance(event, CompletedCheckpoint | FailedCheckpoint))

    def exceptions(self) -> list[ExceptionEntry]:
        """Return what ended the newest attempts, newest first."""
        return History(self._store()).exceptions()

    def plan(self) -> dict[str, Any] | None:
        """Return the start-up plan."""
        return History(self._store()).plan()

    def _store(self) -> Store:
        return Store.at(self.config.checkpointing.dir)

    def _is_summarized(self, completed: int) -> bool:
        return self._summaries[0] == completed

    def _summarized(
        self, seen: Checkpoints, samples: tuple[tuple[int, ...], tuple[int, ...]] | None
    ) -> Checkpoints:
        """Sort the samples once per checkpoint, not once per question."""
        with self._lock:
            if samples is not None:
                self._summaries = (seen.completed, summarize(samples[0]), summarize(samples[1]))
            _, durations, sizes = self._summaries
        return replace(seen, durations=durations, sizes=sizes)


def is_savepoint(checkpoint: Ended | PendingCheckpoint) -> bool:
    """Return whether a checkpoint was taken for a savepoint."""
    return checkpoint.trigger in (Trigger.SAVEPOINT, Trigger.SYNC_SAVEPOINT)
