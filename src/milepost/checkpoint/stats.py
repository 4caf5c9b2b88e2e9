"""What has happened to the checkpoints of a job: counts, the latest of each kind, a short history, a summary.

The read model of every face. It is rebuilt from the durable history at each start, so a restart forgets nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint, FailureReason, Trigger

HISTORY = 10
"""How many checkpoints are shown at once, as in Flink."""

_SAMPLES = 10_000

Ended: TypeAlias = CompletedCheckpoint | FailedCheckpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The distribution of one measure over the completed checkpoints."""

    minimum: int = 0
    maximum: int = 0
    average: int = 0
    quantiles: dict[float, float] = field(default_factory=dict)


@dataclass(slots=True)
class CheckpointStats:
    """Counts and recent history; whoever changes it holds the coordinator's lock."""

    completed: int = 0
    failed: int = 0
    failures: Counter[FailureReason] = field(default_factory=Counter)
    """The failed ones by their reasons."""
    restored: CompletedCheckpoint | None = None
    restores: int = 0
    latest_completed: CompletedCheckpoint | None = None
    latest_savepoint: CompletedCheckpoint | None = None
    latest_failed: FailedCheckpoint | None = None
    history: deque[Ended] = field(default_factory=lambda: deque(maxlen=HISTORY))
    durations: deque[int] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    sizes: deque[int] = field(default_factory=lambda: deque(maxlen=_SAMPLES))

    @classmethod
    def of(cls, events: Iterable[Ended]) -> CheckpointStats:
        """Return the statistics of what a job's history tells, oldest first."""
        stats = cls()
        for event in events:
            stats.add(event)
        return stats

    def add(self, ended: Ended) -> None:
        """Take note of a checkpoint that has completed or failed."""
        self.history.append(ended)
        if isinstance(ended, FailedCheckpoint):
            self.failed += 1
            self.failures[ended.reason] += 1
            self.latest_failed = ended
            return
        self.completed += 1
        self.latest_completed = ended
        if ended.trigger is Trigger.SAVEPOINT:
            self.latest_savepoint = ended
        self.durations.append(ended.duration_ms)
        self.sizes.append(ended.state_size)

    def restore(self, checkpoint: CompletedCheckpoint | None) -> None:
        """Take note of the checkpoint that an attempt begins from."""
        if checkpoint is not None:
            self.restored = checkpoint
            self.restores += 1


QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)


def summarize(samples: Sequence[int]) -> Summary:
    """Return the distribution of some samples; all zero where there are none."""
    if not samples:
        return Summary()
    ordered = sorted(samples)
    return Summary(
        minimum=ordered[0],
        maximum=ordered[-1],
        average=round(sum(ordered) / len(ordered)),
        quantiles={q: _quantile(ordered, q) for q in QUANTILES},
    )


def _quantile(ordered: Sequence[int], q: float) -> float:
    """Return the value at a quantile, between two samples where it falls between them."""
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
