"""The restart strategies: decide whether and when a failed job starts again."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from milepost.config import Restart


class RestartStrategy(Protocol):
    """Decides after each failure. Implementations are pure: time and chance are arguments."""

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the seconds to wait before the next start, or None if the job stays failed.

        `failures` are the times of all failures so far, the current one last; `chance` is between -1 and 1.
        """


@dataclass(frozen=True, slots=True)
class NoRestart:
    """A failed job stays failed."""

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return None."""
        return None


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """A limited number of restarts, each after the same pause."""

    attempts: int
    pause: float

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the pause, or None if the attempts are used up."""
        return self.pause if len(failures) <= self.attempts else None


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Restarts while the number of failures per interval stays within a limit."""

    max_failures: int
    interval: float
    pause: float

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the pause, or None if the interval before the last failure has too many failures."""
        recent = [time for time in failures if failures[-1] - time < self.interval]
        return self.pause if len(recent) <= self.max_failures else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialDelay:
    """Restarts after increasing delays; the delay is reset after a long enough time without failures."""

    initial: float
    maximum: float
    multiplier: float
    reset_after: float
    jitter: float
    attempts: int | None

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the backoff of this failure with its jitter, or None if the attempts are used up."""
        in_a_row = self._in_a_row(failures)
        if self.attempts is not None and in_a_row > self.attempts:
            return None
        backoff = min(self.initial * self.multiplier ** (in_a_row - 1), self.maximum)
        return min(backoff * (1 + self.jitter * chance), self.maximum)

    def _in_a_row(self, failures: Sequence[float]) -> int:
        """Return the number of failures since the last reset."""
        count = 1
        for before, after in pairwise(failures):
            count = 1 if after - before > self.reset_after else count + 1
        return count


class RestartDelays:
    """The failures of one job, and the delay that the strategy prescribes after each."""

    def __init__(self, strategy: RestartStrategy) -> None:
        self._strategy = strategy
        self._failures: list[float] = []

    def after_failure(self) -> float | None:
        """Record a failure now; return the seconds until the next start, or None if the job stays failed."""
        self._failures.append(time.monotonic())
        return self._strategy.delay(self._failures, random.uniform(-1, 1))


def create_strategy(restart: Restart) -> RestartStrategy:
    """Return the strategy that the configuration selects."""
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
