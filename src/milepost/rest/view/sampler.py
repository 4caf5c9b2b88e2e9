"""Samples of a running job for charts: every two seconds, for half an hour, from what its own thread saw last."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import Offsets
from milepost.job.monitoring.progress import Progress, RateMeter
from milepost.source.positions import partition_lags, total_lag

EVERY = 2.0
KEPT = 900
LINES = 32
"""More lines nobody can tell apart in a chart: beyond it lag is kept by topic, and beyond that only in all."""
_SHORTEST, _LONGEST = 4.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A running job at one moment."""

    at: datetime
    rows: int
    rows_per_second: float
    records_per_second: float | None = None
    """How fast offsets go on; None until they have been seen twice."""
    lag: int | None = None
    """None where the broker does not answer."""
    lags: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    batch: int | None = None
    """The batch in flight."""
    tasks: int = 0
    acknowledged: int = 0


class Sampler:
    """Takes samples while its block lasts; whoever reads them does not wait for one."""

    def __init__(
        self, seen: Callable[[], Progress | None], latest: Callable[[], Offsets | None], interval: float
    ) -> None:
        """Take none yet; rates are averages over the job's `interval` between checkpoints, in which rows come."""
        self._seen = seen
        self._latest = latest
        window = min(max(1.5 * interval, _SHORTEST), _LONGEST)
        self._rows, self._records = RateMeter(window), RateMeter(window)
        self._read = 0
        self._position: Offsets = {}
        self._kept: deque[Sample] = deque(maxlen=KEPT)

    def samples(self) -> list[Sample]:
        """Return the samples, oldest first."""
        return list(self._kept)

    def newest(self) -> Sample | None:
        """Return the newest sample."""
        return self._kept[-1] if self._kept else None

    def sample(self, now: datetime, monotonic: float) -> None:
        """Look once."""
        seen = self._seen()
        if seen is None:
            return
        is_known = bool(self._position)
        self._read += moved(self._position, seen.position)
        self._position = seen.position
        latest = self._latest()
        batch = seen.live_batch()
        records = self._records.update(monotonic, self._read)
        self._kept.append(
            Sample(
                at=now,
                rows=seen.rows,
                rows_per_second=self._rows.update(monotonic, seen.rows),
                records_per_second=records if is_known else None,
                lag=None if latest is None else total_lag(seen.position, latest),
                lags={} if latest is None else lags(seen.position, latest),
                rejected=seen.rejected_count,
                batch=None if batch is None else batch.batch_id,
                tasks=seen.tasks,
                acknowledged=seen.acknowledged,
            )
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take samples on a thread of its own until the block ends."""
        stopping = threading.Event()

        def run() -> None:
            while not stopping.wait(EVERY):
                self.sample(utc_now(), time.monotonic())

        thread = threading.Thread(target=run, name="sampler", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join(EVERY)


def moved(before: Offsets, now: Offsets) -> int:
    """Return how many offsets partitions went on that were known before; a restart may bring some back."""
    return sum(
        max(offset - before[topic][partition], 0)
        for topic, partitions in now.items()
        for partition, offset in partitions.items()
        if partition in before.get(topic, {})
    )


def lags(position: Offsets, latest: Offsets) -> dict[str, int]:
    """Return the lag of each partition, or of each topic where there are too many partitions for a chart."""
    known = partition_lags(position, latest)
    partitions = {
        f"{topic}-{number}": known.get((topic, number), 0)
        for topic, ends in latest.items()
        for number in ends
    }
    if len(partitions) <= LINES:
        return partitions
    topics = {topic: total_lag(position, {topic: ends}) for topic, ends in latest.items()}
    return topics if len(topics) <= LINES else {}
