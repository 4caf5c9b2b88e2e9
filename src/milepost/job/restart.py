"""Decides whether and when a failed job starts again. Pure: the times of its failures and a random number go in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol


class RestartStrategy(Protocol):
    """One question, asked after each failure."""

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the seconds to wait before the next start, or None where the job stays failed.

        `failures` are the times of all failures so far, the one at hand last; `chance` is between -1 and 1.
        """


@dataclass(frozen=True, slots=True)
class NoRestart:
    """A failed job stays failed."""

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return None, always."""
        return None


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """So many restarts, each after the same time."""

    attempts: int
    pause: float

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the pause until the attempts are used up."""
        return self.pause if len(failures) <= self.attempts else None


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Restarts as long as failures are rare enough."""

    max_failures: int
    interval: float
    pause: float

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the pause unless more failures than allowed lie within one interval up to the last."""
        recent = [time for time in failures if failures[-1] - time < self.interval]
        return self.pause if len(recent) <= self.max_failures else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialDelay:
    """Restarts after ever longer times, which start anew once the job has run well for long enough."""

    initial: float
    maximum: float
    multiplier: float
    reset_after: float
    jitter: float
    attempts: int | None

    def delay(self, failures: Sequence[float], chance: float) -> float | None:
        """Return the back-off of this failure, with its jitter; None where the attempts are used up."""
        in_a_row = self._in_a_row(failures)
        if self.attempts is not None and in_a_row > self.attempts:
            return None
        backoff = min(self.initial * self.multiplier ** (in_a_row - 1), self.maximum)
        return min(backoff * (1 + self.jitter * chance), self.maximum)

    def _in_a_row(self, failures: Sequence[float]) -> int:
        """Return how many failures belong together: a long enough quiet time between two starts anew."""
        count = 1
        for before, after in pairwise(failures):
            count = 1 if after - before > self.reset_after else count + 1
        return count
