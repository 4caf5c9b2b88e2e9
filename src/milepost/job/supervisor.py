"""Keeps a pipeline running: watches an attempt, and starts the next one as the restart strategy says."""

from __future__ import annotations

import logging
import random
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
from milepost.config import Restart
from milepost.errors import MilepostError
from milepost.job.attempt import Attempt
from milepost.job.monitoring.counters import Numbers
from milepost.job.monitoring.progress import Progress, counted
from milepost.job.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, RestartStrategy
from milepost.job.status import JobStatus, may_move
from milepost.job.stop_with_savepoint import StopWithSavepoint

log = logging.getLogger(__name__)

Notice = Callable[[MilepostError, float], None]
"""Called before each restart, with what the job failed of and the seconds until the next attempt."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """How a failed job goes on."""

    again: Callable[[], Attempt]
    """Prepares and starts another attempt, from the newest checkpoint."""
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
        """Take over the first attempt.

        What the job tells of its failures, at a restart or at the end, goes through the coordinator's `redact` first.
        """
        self.job_id: str = first.job_id
        self.log: Path = first.log
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.restarts = 0
        """How many restarts were decided, whether they came about or not."""
        self.moved_at: dict[JobStatus, datetime] = {JobStatus.CREATED: Clock().now()}
        """When it last came into each status."""
        self.seen: Progress | None = None
        """What `wait` saw last: for faces that must not ask the engine themselves."""
        self.numbers = Numbers()
        self._attempt = first
        self._restarts = restarts
        self._coordinator = coordinator
        self._history = history
        self._savepoints = savepoints
        self._at_end = at_end
        self._failures: list[float] = []
        self._stopping = threading.Event()
        self._record("")

    @property
    def checkpoints(self) -> CheckpointCoordinator:
        """The checkpoints of this job: what is pending, what completed and failed."""
        return self._coordinator

    @property
    def savepoint_dir(self) -> str | None:
        """Where savepoints of this job go unless a request names another place."""
        return self._savepoints.default_directory

    def trigger_checkpoint(self) -> Future[CompletedCheckpoint]:
        """Ask for a checkpoint now; the future has it once it is complete."""
        return self._coordinator.trigger()

    def attach(self, key: str, value: Value) -> None:
        """Store something with the next checkpoint; it is given back when the job starts from that one."""
        self._coordinator.attach(key, value)

    def progress(self) -> Progress:
        """Return where the job stands, with the counts of all its attempts."""
        return self._counted(self._attempt.progress())

    def trigger_savepoint(self, directory: str | None = None) -> Future[Savepoint]:
        """Take a savepoint of the next checkpoint while the job goes on; the future has it once it is whole."""
        return self._savepoints.trigger(directory)

    def stop_with_savepoint(self, directory: str | None = None, *, drain: bool = False) -> Future[Savepoint]:
        """Stop at a boundary and finish with a savepoint; where it fails the job goes on, and the future says why.

        `drain` also emits what waits for event time to go on.
        """
        closing = StopWithSavepoint(self._savepoints, directory)
        if drain and (refusal := self._savepoints.refuse_drain()):
            closing.future.set_exception(refusal)
        else:
            closing.begin(self._coordinator, lambda: self._attempt.stop_with(closing))
        return closing.future

    def cancel(self) -> None:
        """Ask for a stop at the next boundary; a job that waits for its restart does not start again."""
        self._stopping.set()
        self._attempt.stop()

    def abandon(self) -> None:
        """Stop at once, in the middle of a batch: the next start replays it."""
        self._stopping.set()
        self._attempt.abandon()
        self._move(self._attempt.status)
        self._at_end(self.status)

    def wait(
        self,
        look: Callable[[Progress], None] = lambda _: None,
        notice: Notice = lambda _error, _delay: None,
    ) -> JobStatus:
        """Drive the job to its end and return how it ended; `look` is called a few times a second."""
        while not self.status.is_terminal:
            ended = self._attempt.wait(lambda progress: look(self._see(progress)))
            if ended is JobStatus.FAILED and self._attempt.error is not None:
                self._failed(self._attempt.error, notice)
            else:
                self._move(ended)
        self._at_end(self.status)
        return self.status

    def _counted(self, progress: Progress) -> Progress:
        with self._coordinator.changed:
            return counted(progress, self._coordinator.stats)

    def _see(self, progress: Progress) -> Progress:
        self.seen = self._counted(progress)
        self.numbers.look(self.seen, time.monotonic())
        return self.seen

    def _failed(self, error: MilepostError, notice: Notice) -> None:
        """Start again, as often as starting itself fails too, until the strategy gives up."""
        failure: MilepostError | None = error
        is_tolerable = self._coordinator.is_tolerable
        while failure is not None and not self.status.is_terminal:
            failure = failure.map_text(self._coordinator.redact)
            delay = 0.0 if is_tolerable else self._delay()
            is_tolerable = False
            if delay is None or not failure.retryable:
                self.error = failure
                self._note(failure, JobStatus.FAILED)
                self._move(JobStatus.FAILED, failure.what)
                return
            self._note(failure, JobStatus.RESTARTING)
            self._restart(failure.what)
            notice(failure, delay)
            if self._stopping.wait(delay):
                self._move(JobStatus.CANCELED)
                return
            failure = self._start()

    def _start(self) -> MilepostError | None:
        try:
            self._attempt = self._restarts.again()
        except MilepostError as error:
            return error
        self._move(JobStatus.RUNNING)
        return None

    def _restart(self, reason: str) -> None:
        """Count a restart when it is decided, as Flink does: also one whose start fails."""
        self.restarts += 1
        if self.status is JobStatus.RESTARTING:
            self._append(Clock().now(), reason)
        else:
            self._move(JobStatus.RESTARTING, reason)

    def _delay(self) -> float | None:
        """Count one more failure and return how long the strategy waits after it, None where it gives up."""
        self._failures.append(time.monotonic())
        return self._restarts.strategy.delay(self._failures, random.uniform(-1, 1))

    def _move(self, target: JobStatus, detail: str = "") -> None:
        if target is self.status:
            return
        if target is JobStatus.CANCELED and self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if not may_move(self.status, target):
            raise AssertionError(f"a job cannot go from {self.status.value} to {target.value}")
        log.info(
            "Job switched from %s to %s%s", self.status.value, target.value, f": {detail}" if detail else ""
        )
        self.status = target
        self._record(detail)

    def _record(self, detail: str) -> None:
        """Write the job's status into its history; a disk that is full must not hide why the job ends."""
        now = Clock().now()
        # Another one each time: faces read it from threads of their own.
        self.moved_at = {**self.moved_at, self.status: now}
        self.numbers.moved(self.status, now)
        self._append(now, detail)

    def _append(self, at: datetime, detail: str) -> None:
        with suppress(OSError):
            self._history.append(JobEvent(at=at, job_id=self.job_id, status=self.status.value, detail=detail))

    def _note(self, failure: MilepostError, status: JobStatus) -> None:
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


def strategy_of(restart: Restart) -> RestartStrategy:
    """Return the strategy that a configuration asks for."""
    if restart.strategy == "fixed-delay":
        return FixedDelay(restart.attempts, restart.delay.total_seconds())
    if restart.strategy == "failure-rate":
        interval = restart.failure_rate_interval.total_seconds()
        return FailureRate(restart.max_failures_per_interval, interval, restart.delay.total_seconds())
    if restart.strategy == "exponential-delay":
        return ExponentialDelay(
            initial=restart.initial_backoff.total_seconds(),
            maximum=restart.max_backoff.total_seconds(),
            multiplier=restart.backoff_multiplier,
            reset_after=restart.reset_backoff_threshold.total_seconds(),
            jitter=restart.jitter_factor,
            attempts=restart.attempts_before_reset_backoff,
        )
    return NoRestart()
