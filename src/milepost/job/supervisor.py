"""Keeps a pipeline running: drives an attempt to its end and starts the next one by the restart strategy."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.model import CompletedCheckpoint, Value
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.take import Savepoints
from milepost.checkpoint.store.history import ExceptionEntry, History, JobEvent
from milepost.errors import MilepostError
from milepost.job.attempt import Attempt
from milepost.job.monitoring.counters import JobCounters
from milepost.job.monitoring.progress import Progress, with_totals
from milepost.job.restart import RestartDelays, RestartStrategy
from milepost.job.status import JobStatus, transition
from milepost.job.stop_with_savepoint import StopWithSavepoint

log = logging.getLogger(__name__)

RestartListener = Callable[[MilepostError, float], None]
"""Called before each restart with the error of the failed attempt and the seconds until the next one."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """How a failed job is restarted."""

    next_attempt: Callable[[], Attempt]
    """Prepares and starts another attempt from the newest completed checkpoint."""
    strategy: RestartStrategy


class Job:
    """A running pipeline. `wait` drives it to its end; `cancel` may be called from any thread or signal handler."""

    def __init__(
        self,
        first: Attempt,
        restarts: Restarts,
        *,
        coordinator: CheckpointCoordinator,
        savepoints: Savepoints,
        history: History,
        at_end: Callable[[JobStatus], None],
    ) -> None:
        """Take over the first attempt, which is running.

        Every error that the job reports or records passes through the coordinator's `redact` first.
        """
        self.job_id: str = first.job_id
        self.log: Path = first.log
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.restarts = 0
        """The number of restarts decided so far, including those whose start failed."""
        self.moved_at: dict[JobStatus, datetime] = {JobStatus.CREATED: Clock().now()}
        """When the job last entered each status."""
        self.latest_progress: Progress | None = None
        """The newest progress that `wait` has read, for readers that must not call the engine themselves."""
        self.counters = JobCounters()
        self._attempt = first
        self._next_attempt = restarts.next_attempt
        self._delays = RestartDelays(restarts.strategy)
        self._coordinator = coordinator
        self._history = history
        self._savepoints = savepoints
        self._at_end = at_end
        self._stopping = threading.Event()
        self._record_status()

    @property
    def checkpoints(self) -> CheckpointCoordinator:
        """The coordinator of this job: pending, completed and failed checkpoints."""
        return self._coordinator

    @property
    def savepoint_dir(self) -> str | None:
        """The directory of savepoints if a request does not name one."""
        return self._savepoints.default_directory

    def trigger_checkpoint(self) -> Future[CompletedCheckpoint]:
        """Request a checkpoint now; the future returns it when it has completed."""
        return self._coordinator.trigger()

    def attach(self, key: str, value: Value) -> None:
        """Store a value with the next checkpoint; it is restored when the job starts from that checkpoint."""
        self._coordinator.attach(key, value)

    def progress(self) -> Progress:
        """Return the current progress, with the totals of all attempts."""
        return self._with_totals(self._attempt.progress())

    def trigger_savepoint(self, directory: str | None = None) -> Future[Savepoint]:
        """Take a savepoint of the next checkpoint while the job runs; the future returns it when it is complete."""
        return self._savepoints.trigger(directory)

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Savepoint]:
        """Stop at a checkpoint boundary and take a savepoint; if that fails, the job continues and the future raises.

        `drain` also emits the results that wait for event time to advance.
        """
        stop = StopWithSavepoint(self._savepoints, directory)
        if drain and (refusal := self._savepoints.refuse_drain()):
            stop.future.set_exception(refusal)
        else:
            stop.begin(self._coordinator, lambda: self._attempt.stop_with_savepoint(stop))
        return stop.future

    def cancel(self) -> None:
        """Request a stop at the next checkpoint boundary; a job that waits for its restart does not start again."""
        self._stopping.set()
        self._attempt.stop()

    def abandon(self) -> None:
        """Stop immediately, in the middle of a batch; the next start replays the batch."""
        self._stopping.set()
        self._attempt.abandon()
        self._move(self._attempt.status)
        self._at_end(self.status)

    def wait(
        self,
        on_progress: Callable[[Progress], None] = lambda _: None,
        on_restart: RestartListener = lambda _error, _delay: None,
    ) -> JobStatus:
        """Drive the job to its end and return its final status; `on_progress` is called several times a second."""
        while not self.status.is_terminal:
            ended = self._attempt.wait(lambda progress: on_progress(self._record_progress(progress)))
            if ended is JobStatus.FAILED and self._attempt.error is not None:
                self._handle_failure(self._attempt.error, on_restart)
            else:
                self._move(ended)
        self._at_end(self.status)
        return self.status

    def _with_totals(self, progress: Progress) -> Progress:
        with self._coordinator.changed:
            return with_totals(progress, self._coordinator.stats)

    def _record_progress(self, progress: Progress) -> Progress:
        self.latest_progress = self._with_totals(progress)
        self.counters.record_progress(self.latest_progress, time.monotonic())
        return self.latest_progress

    def _handle_failure(self, error: MilepostError, on_restart: RestartListener) -> None:
        """Start attempts until one runs or the strategy gives up; a failed start counts as a failure."""
        failure: MilepostError | None = error
        is_tolerable = self._coordinator.is_tolerable
        while failure is not None and not self.status.is_terminal:
            failure = failure.map_text(self._coordinator.redact)
            delay = 0.0 if is_tolerable else self._delays.after_failure()
            is_tolerable = False
            if delay is None or not failure.retryable:
                self.error = failure
                self._record_exception(failure, JobStatus.FAILED)
                self._move(JobStatus.FAILED, failure.what)
                return
            self._record_exception(failure, JobStatus.RESTARTING)
            self._record_restart(failure.what)
            on_restart(failure, delay)
            if self._stopping.wait(delay):
                self._move(JobStatus.CANCELED)
                return
            failure = self._start_attempt()

    def _start_attempt(self) -> MilepostError | None:
        try:
            self._attempt = self._next_attempt()
        except MilepostError as error:
            return error
        self._move(JobStatus.RUNNING)
        return None

    def _record_restart(self, reason: str) -> None:
        """Count a restart when it is decided, as Flink does, even if its start fails."""
        self.restarts += 1
        if self.status is JobStatus.RESTARTING:
            self._append_event(Clock().now(), reason)
        else:
            self._move(JobStatus.RESTARTING, reason)

    def _move(self, target: JobStatus, detail: str = "") -> None:
        if target is self.status:
            return
        if target is JobStatus.CANCELED and self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        before, self.status = self.status, transition(self.status, target)
        log.info("Job switched from %s to %s%s", before.value, target.value, f": {detail}" if detail else "")
        self._record_status(detail)

    def _record_status(self, detail: str = "") -> None:
        """Append the status to the history; a full disk must not hide why the job ends."""
        now = Clock().now()
        # Replaced, never changed in place: other threads read it.
        self.moved_at = {**self.moved_at, self.status: now}
        self.counters.record_status(self.status, now)
        self._append_event(now, detail)

    def _append_event(self, at: datetime, detail: str) -> None:
        with suppress(OSError):
            self._history.append(JobEvent(at=at, job_id=self.job_id, status=self.status.value, detail=detail))

    def _record_exception(self, failure: MilepostError, status: JobStatus) -> None:
        with suppress(OSError):
            self._history.append(
                ExceptionEntry(
                    at=Clock().now(),
                    job_id=self.job_id,
                    attempt=self.restarts + 1,
                    what=failure.what,
                    why=failure.why,
                    fix=failure.fix,
                    status=status.value,
                )
            )
