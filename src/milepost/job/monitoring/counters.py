"""The counters of a running job: time in each status, records read, rates. All values come from memory."""

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
"""The seconds over which a rate is averaged, as in Flink."""
_METER_INTERVAL = 1.0
_ZERO = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTimes:
    """How long a job was in each status."""

    status: JobStatus | None = None
    since: datetime | None = None
    completed: Mapping[JobStatus, timedelta] = field(default_factory=dict)
    """The time spent in each status until the last switch."""

    def after_switch(self, status: JobStatus, at: datetime) -> StatusTimes:
        """Return the times after a switch to a status."""
        completed = dict(self.completed)
        if self.status is not None:
            completed[self.status] = self.total(self.status, at)
        return StatusTimes(status=status, since=at, completed=completed)

    def current(self, status: JobStatus, now: datetime) -> timedelta:
        """Return the time since the job entered this status; zero if it is in another."""
        if status is not self.status or self.since is None:
            return _ZERO
        return max(now - self.since, _ZERO)

    def total(self, status: JobStatus, now: datetime) -> timedelta:
        """Return the total time that the job spent in this status."""
        return self.completed.get(status, _ZERO) + self.current(status, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates per second, averaged over the last minute."""

    rows: float = 0.0
    changes: float = 0.0
    read: Mapping[str, float] = field(default_factory=dict)
    """Offsets read, by topic."""


class JobCounters:
    """Written by the job's thread and read by any: values are replaced, never changed in place."""

    def __init__(self) -> None:
        self.times = StatusTimes()
        self.rates = Rates()
        self.read: Mapping[str, int] = {}
        """The offsets read since the start of the job, by topic."""
        self.epoch: int | None = None
        """The epoch of the job's lease."""
        self.commits: Callable[[], Mapping[str, CommitStats]] = dict
        """Returns the commit statistics of each view."""
        self._position: dict[tuple[str, int], int] = {}
        self._meters: dict[str, RateMeter] = {}
        self._metered_at: float | None = None

    def begin(self, offsets: Offsets, epoch: int, commits: Callable[[], Mapping[str, CommitStats]]) -> None:
        """Set the start offsets and the epoch of the lease; called once, before the first reader."""
        self._position = _flatten(offsets)
        self.epoch = epoch
        self.commits = commits

    def record_status(self, status: JobStatus, at: datetime) -> None:
        """Record that the job has switched to a status."""
        self.times = self.times.after_switch(status, at)

    def record_progress(self, progress: Progress, now: float) -> None:
        """Update counters and rates; `now` is a time of the monotonic clock."""
        read = Counter(self.read)
        for (topic, partition), offset in _flatten(progress.position).items():
            # A new partition counts from the first offset at which it is seen.
            read[topic] += max(offset - self._position.get((topic, partition), offset), 0)
            self._position[topic, partition] = offset
        self.read = dict(read)
        if self._metered_at is not None and now - self._metered_at < _METER_INTERVAL:
            return
        self._metered_at = now
        self.rates = Rates(
            rows=self._update_rate("rows", now, progress.rows),
            changes=self._update_rate("changes", now, count_changes(progress)),
            read={topic: self._update_rate(f"read {topic}", now, count) for topic, count in read.items()},
        )

    def _update_rate(self, name: str, now: float, count: int) -> float:
        return self._meters.setdefault(name, RateMeter(WINDOW)).update(now, count)


def count_changes(progress: Progress) -> int:
    """Return the number of rows put or deleted since the job started."""
    return progress.totals.get("puts", 0) + progress.totals.get("deletes", 0)


def _flatten(offsets: Offsets) -> dict[tuple[str, int], int]:
    return {
        (topic, partition): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }
