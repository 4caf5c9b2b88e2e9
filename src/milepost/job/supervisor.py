"""Keeps a pipeline running: watches an attempt, and starts the next one as the restart strategy says."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

from milepost.config import Restart
from milepost.errors import MilepostError
from milepost.job.attempt import Attempt
from milepost.job.progress import Progress, since
from milepost.job.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, RestartStrategy
from milepost.job.status import JobStatus, may_move

Notice = Callable[[MilepostError, float], None]
"""Called before each restart, with what the job failed of and the seconds until the next attempt."""


class Job:
    """A running pipeline. `wait` drives it to its end; `stop` may be called from any thread or signal handler."""

    def __init__(
        self,
        first: Attempt,
        again: Callable[[], Attempt],
        strategy: RestartStrategy,
        *,
        redact: Callable[[str], str],
        at_end: Callable[[], None],
    ) -> None:
        """Take over the first attempt; `again` prepares and starts another, from the newest checkpoint.

        What the job tells of its failures, at a restart or at the end, goes through `redact` first.
        """
        self.job_id: str = first.job_id
        self.log: Path = first.log
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.restarts = 0
        self._attempt = first
        self._again = again
        self._strategy = strategy
        self._redact = redact
        self._at_end = at_end
        self._failures: list[float] = []
        self._before: Progress | None = None
        self._stopping = threading.Event()

    def progress(self) -> Progress:
        """Return where the job stands, with the counts of all its attempts."""
        return since(self._before, self._attempt.progress())

    def stop(self) -> None:
        """Ask for a stop at the next boundary; a job that waits for its restart does not start again."""
        self._stopping.set()
        self._attempt.stop()

    def abandon(self) -> None:
        """Stop at once, in the middle of a batch: the next start replays it."""
        self._stopping.set()
        self._attempt.abandon()
        self.status = self._attempt.status
        self._at_end()

    def wait(
        self,
        look: Callable[[Progress], None] = lambda _: None,
        notice: Notice = lambda _error, _delay: None,
    ) -> JobStatus:
        """Drive the job to its end and return how it ended; `look` is called a few times a second."""
        while not self.status.is_terminal:
            ended = self._attempt.wait(lambda progress: look(since(self._before, progress)))
            if ended is JobStatus.FAILED and self._attempt.error is not None:
                self._failed(self._attempt.error, notice)
            else:
                self.status = ended
        self._at_end()
        return self.status

    def _failed(self, error: MilepostError, notice: Notice) -> None:
        """Start again, as often as starting itself fails too, until the strategy gives up."""
        self._before = self.progress()
        failure: MilepostError | None = error
        while failure is not None and not self.status.is_terminal:
            failure = failure.map_text(self._redact)
            self._failures.append(time.monotonic())
            delay = self._strategy.delay(self._failures, random.uniform(-1, 1))
            if delay is None or not failure.retryable:
                self.error = failure
                self._move(JobStatus.FAILED)
                return
            self._move(JobStatus.RESTARTING)
            notice(failure, delay)
            if self._stopping.wait(delay):
                self._move(JobStatus.CANCELED)
                return
            failure = self._start()

    def _start(self) -> MilepostError | None:
        try:
            self._attempt = self._again()
        except MilepostError as error:
            return error
        self.restarts += 1
        self._move(JobStatus.RUNNING)
        return None

    def _move(self, target: JobStatus) -> None:
        if target is not self.status and not may_move(self.status, target):
            raise AssertionError(f"a job cannot go from {self.status.value} to {target.value}")
        self.status = target


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
