"""The progress of a running job, parsed from the engine's status. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from milepost.checkpoint.model import Acknowledgement, Offsets
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.stats.engine_report import LiveBatch, writer_acks

NO_CHANGE = "NO_CHANGE"
"""Counted with the reasons of rejected records: a valid change-log record that changes no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a running job at one moment."""

    checkpoint_id: int | None
    """The newest completed checkpoint, from which a restart would resume."""
    running_batch: int | None
    tasks: int
    acknowledged: int
    finished: bool
    states: tuple[int, ...] = ()
    """The ids of the stateful operators in the newest batch's plan."""
    sealed_batch: int | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    """Late records dropped by operators, by topic, since the job's first start without a checkpoint."""
    position: Offsets = field(default_factory=dict)

    def live_batch(self) -> LiveBatch | None:
        """Return the running batch, or None."""
        if self.running_batch is None or self.running_batch == self.sealed_batch:
            return None
        return LiveBatch(
            batch_id=self.running_batch,
            tasks=self.tasks,
            states=self.states,
            acknowledgements=self.acknowledgements,
        )

    @property
    def rows(self) -> int:
        """The number of rows in the completed checkpoints of this run."""
        return self.totals.get("rows", 0)

    @property
    def is_bulk_load(self) -> bool:
        """Whether the newest batch is bulk-loaded, according to the acknowledgements so far."""
        return any(ack.details.get("write") == "bulk-load" for ack in self.acknowledgements)

    @property
    def rejected_count(self) -> int:
        """The number of records rejected in the completed checkpoints of this run."""
        return sum(count for reason, count in self.rejected.items() if reason != NO_CHANGE)

    @property
    def late_count(self) -> int:
        """The number of dropped late records."""
        return sum(self.late.values())


def with_totals(progress: Progress, stats: CheckpointStats) -> Progress:
    """Return the progress with the totals of the job's checkpoints; the caller must hold the coordinator's lock."""
    newest = stats.newest
    return replace(
        progress,
        checkpoint_id=None if newest is None else newest.checkpoint_id,
        totals=dict(stats.run.totals),
        rejected=dict(stats.run.rejected),
        late={} if newest is None else newest.late_total,
    )


def parse_progress(status: str, now: datetime) -> Progress:
    """Parse the engine's status; the totals of the checkpoints are not in it."""
    document = json.loads(status)
    position: dict[str, dict[int, int]] = {}
    for source in document["positions"]:
        for topic, partitions in json.loads(source).items():
            position[topic] = {int(partition): offset for partition, offset in partitions.items()}
    sealed, running = document["sealed"], document["running"]
    return Progress(
        checkpoint_id=None,
        sealed_batch=sealed if sealed >= 0 else None,
        running_batch=running if running >= 0 else None,
        tasks=document["tasks"],
        acknowledged=document["acknowledged"],
        finished=document["finished"],
        states=tuple(document.get("states", ())),
        acknowledgements=tuple(writer_acks(document.get("acks", ()), now)),
        position=position,
    )


class RateMeter:
    """The rate of a growing count."""

    def __init__(self, window: float = 5.0) -> None:
        """Average over `window` seconds."""
        self._window = window
        self._samples: list[tuple[float, int]] = []

    def update(self, now: float, count: int) -> float:
        """Record the count and return the rate per second."""
        self._samples.append((now, count))
        while len(self._samples) > 2 and self._samples[0][0] < now - self._window:
            self._samples.pop(0)
        then, before = self._samples[0]
        elapsed = now - then
        return (count - before) / elapsed if elapsed > 0 else 0.0
