"""What a job counts of itself for those who look: time in each status, records read, rates. Asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from milepost.checkpoint.model import Offsets
from milepost.job.monitoring.progress import Progress, RateMeter
from milepost.job.status import JobStatus
from milepost.source.committer import CommitStats

WINDOW = 60.0
"""Seconds that a rate is the average of, as in Flink."""
_METER_EVERY = 1.0
_ZERO = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTimes:
    """How long a job has been in each status."""

    status: JobStatus | None = None
    since: datetime | None = None
    left: Mapping[JobStatus, timedelta] = field(default_factory=dict)
    """The time in each status, up to the last move."""

    def moved(self, status: JobStatus, at: datetime) -> StatusTimes:
        """Return the times after a move."""
        left = dict(self.left)
        if self.status is not None:
            left[self.status] = self.total(self.status, at)
        return StatusTimes(status=status, since=at, left=left)

    def current(self, status: JobStatus, now: datetime) -> timedelta:
        """Return how long the job has been in this status without a break; zero where it is in another."""
        if status is not self.status or self.since is None:
            return _ZERO
        return max(now - self.since, _ZERO)

    def total(self, status: JobStatus, now: datetime) -> timedelta:
        """Return how long the job has been in this status altogether."""
        return self.left.get(status, _ZERO) + self.current(status, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Per second, over the last minute."""

    rows: float = 0.0
    changes: float = 0.0
    read: Mapping[str, float] = field(default_factory=dict)
    """Offsets by topic."""


class Numbers:
    """Written by the job's own thread, read by any: every value is replaced as a whole."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.times = StatusTimes()
        self.rates = Rates()
        self.read: Mapping[str, int] = {}
        """How many offsets of each topic were read since the job began."""
        self.epoch: int | None = None
        """The epoch of the lease that the job holds."""
        self.commits: Callable[[], Mapping[str, CommitStats]] = dict
        """Answers what became of the commits to the group of each view."""
        self._position: dict[tuple[str, int], int] = {}
        self._meters: dict[str, RateMeter] = {}
        self._metered_at: float | None = None

    def begin(self, offsets: Offsets, epoch: int, commits: Callable[[], Mapping[str, CommitStats]]) -> None:
        """The job begins at these offsets, with this lease; told once, before anybody looks."""
        self._position = _flat(offsets)
        self.epoch = epoch
        self.commits = commits

    def moved(self, status: JobStatus, at: datetime) -> None:
        """The job has come into a status."""
        self.times = self.times.moved(status, at)

    def look(self, progress: Progress, now: float) -> None:
        """Take note of where the job stands, at a time of the monotonic clock."""
        read = Counter(self.read)
        for (topic, partition), offset in _flat(progress.position).items():
            # A partition that is new in a topic counts from where it is first seen.
            read[topic] += max(offset - self._position.get((topic, partition), offset), 0)
            self._position[topic, partition] = offset
        self.read = dict(read)
        if self._metered_at is not None and now - self._metered_at < _METER_EVERY:
            return
        self._metered_at = now
        self.rates = Rates(
            rows=self._rate("rows", now, progress.rows),
            changes=self._rate("changes", now, changes(progress)),
            read={topic: self._rate(f"read {topic}", now, count) for topic, count in read.items()},
        )

    def _rate(self, name: str, now: float, count: int) -> float:
        return self._meters.setdefault(name, RateMeter(WINDOW)).look(now, count)


def changes(progress: Progress) -> int:
    """Return how many rows were put or deleted since the job started."""
    return progress.totals.get("puts", 0) + progress.totals.get("deletes", 0)


def _flat(offsets: Offsets) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }
