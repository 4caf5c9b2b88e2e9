"""Samples of a running job for charts: every two seconds, for half an hour, from its last recorded progress."""

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
"""The most lines that a chart can show; with more partitions lag is kept by topic, with more topics only in total."""
_SHORTEST, _LONGEST = 4.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A running job at one moment."""

    at: datetime
    rows: int
    rows_per_second: float
    records_per_second: float | None = None
    """The rate at which offsets advance; None until two positions are known."""
    lag: int | None = None
    """None if the broker does not respond."""
    lags: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    batch: int | None = None
    """The batch in flight."""
    tasks: int = 0
    acknowledged: int = 0


class Sampler:
    """Takes samples while its block runs; reading them never blocks."""

    def __init__(
        self, progress: Callable[[], Progress | None], latest: Callable[[], Offsets | None], interval: float
    ) -> None:
        """Create a sampler; rates are averages over the job's checkpoint `interval`, at which rows arrive."""
        self._progress = progress
        self._latest = latest
        window = min(max(1.5 * interval, _SHORTEST), _LONGEST)
        self._rows, self._records = RateMeter(window), RateMeter(window)
        self._read = 0
        self._position: Offsets = {}
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    def samples(self) -> list[Sample]:
        """Return the samples, oldest first."""
        return list(self._samples)

    def newest(self) -> Sample | None:
        """Return the newest sample."""
        return self._samples[-1] if self._samples else None

    def sample(self, now: datetime, monotonic: float) -> None:
        """Take one sample."""
        progress = self._progress()
        if progress is None:
            return
        is_known = bool(self._position)
        self._read += count_progress(self._position, progress.position)
        self._position = progress.position
        latest = self._latest()
        batch = progress.live_batch()
        records = self._records.update(monotonic, self._read)
        self._samples.append(
            Sample(
                at=now,
                rows=progress.rows,
                rows_per_second=self._rows.update(monotonic, progress.rows),
                records_per_second=records if is_known else None,
                lag=None if latest is None else total_lag(progress.position, latest),
                lags={} if latest is None else lag_by_line(progress.position, latest),
                rejected=progress.rejected_count,
                batch=None if batch is None else batch.batch_id,
                tasks=progress.tasks,
                acknowledged=progress.acknowledged,
            )
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take samples on a separate thread until the block ends."""
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


def count_progress(before: Offsets, now: Offsets) -> int:
    """Return by how many offsets the known partitions advanced; a restart may move some back."""
    return sum(
        max(offset - before[topic][partition], 0)
        for topic, partitions in now.items()
        for partition, offset in partitions.items()
        if partition in before.get(topic, {})
    )


def lag_by_line(position: Offsets, latest: Offsets) -> dict[str, int]:
    """Return the lag of each partition, or of each topic if there are too many partitions for a chart."""
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
