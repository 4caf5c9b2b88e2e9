"""What a running job shows of itself. Pure: the engine's words go in, numbers for people come out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from milepost.checkpoint.model import Acknowledgement, Offsets
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.stats.engine_report import LiveBatch, writer_acks

NO_CHANGE = "NO_CHANGE"
"""Counted beside the reasons of rejected records: a record of a change log that is fine and changes no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A moment of a running job."""

    checkpoint_id: int | None
    """The newest completed checkpoint: the one that a restart would begin from."""
    running_batch: int | None
    tasks: int
    acknowledged: int
    finished: bool
    states: tuple[int, ...] = ()
    """The operators of the newest batch's plan that keep state."""
    sealed_batch: int | None = None
    acknowledgements: tuple[Acknowledgement, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    """Records that operators dropped because they were late, by topic, since the job began without a checkpoint."""
    position: Offsets = field(default_factory=dict)

    def live_batch(self) -> LiveBatch | None:
        """Return the batch that runs now, or None where none does."""
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
        """Return how many rows are in the completed checkpoints of this run."""
        return self.totals.get("rows", 0)

    @property
    def is_bulk_load(self) -> bool:
        """Return whether the newest batch goes into HFiles, by what its writers have said so far."""
        return any(ack.details.get("write") == "bulk-load" for ack in self.acknowledgements)

    @property
    def rejected_count(self) -> int:
        """Return how many records were rejected in the completed checkpoints of this run."""
        return sum(count for reason, count in self.rejected.items() if reason != NO_CHANGE)

    @property
    def late_count(self) -> int:
        """Return how many records were dropped because they were late."""
        return sum(self.late.values())


def counted(progress: Progress, stats: CheckpointStats) -> Progress:
    """Return the progress with what the job's checkpoints add up to; whoever calls holds the coordinator's lock."""
    newest = stats.newest
    return replace(
        progress,
        checkpoint_id=None if newest is None else newest.checkpoint_id,
        totals=dict(stats.run.totals),
        rejected=dict(stats.run.rejected),
        late={} if newest is None else newest.late_total,
    )


def parse_progress(status: str, now: datetime) -> Progress:
    """Turn the engine's status into progress; what checkpoints add up to is not in it."""
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
    """Rows per second over the last few looks."""

    def __init__(self, window: float = 5.0) -> None:
        """Average over `window` seconds."""
        self._window = window
        self._looks: list[tuple[float, int]] = []

    def look(self, now: float, rows: int) -> float:
        """Take note of the count and return the rate."""
        self._looks.append((now, rows))
        while len(self._looks) > 2 and self._looks[0][0] < now - self._window:
            self._looks.pop(0)
        then, before = self._looks[0]
        elapsed = now - then
        return (rows - before) / elapsed if elapsed > 0 else 0.0
