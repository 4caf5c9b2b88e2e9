"""What has happened to the checkpoints of a job: counts, the latest of each kind, a short history, a summary.

The read model of every face. It is rebuilt from the durable history at each start, so a restart forgets nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from milepost.checkpoint.model import (
    AckResult,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    Kind,
    Trigger,
    kind_of,
)

HISTORY = 10
"""How many checkpoints are shown at once, as in Flink."""

WRITER_WORDS = ("puts", "deletes", "noops", "ignored", "flushes", "superseded")
"""What writers count beside rows and bytes."""

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
class RunCounts:
    """What the checkpoints of one run add up to, over all its attempts; a batch that runs again counts once."""

    completed: int = 0
    failed: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    """What the writers have done, by their words: rows, puts, deletes, bytes."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Bad records by reason."""

    def add(self, ended: Ended) -> None:
        """Count a checkpoint that has completed or failed."""
        if isinstance(ended, FailedCheckpoint):
            self.failed += 1
            return
        self.completed += 1
        self.rejected.update(ended.rejected)
        for ack in ended.acknowledgements:
            if kind_of(ack.participant) is Kind.WRITER:
                self.totals.update(rows=ack.rows, bytes=ack.bytes)
                self.totals.update({word: int(ack.details.get(word, 0)) for word in WRITER_WORDS})

    def copy(self) -> RunCounts:
        """Return the counts as they are now."""
        return replace(self, totals=Counter(self.totals), rejected=Counter(self.rejected))


@dataclass(slots=True)
class CheckpointStats:
    """Counts and recent history. Callers that change it hold the coordinator's lock."""

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
    run: RunCounts = field(default_factory=RunCounts)
    acknowledgements: Counter[AckResult] = field(default_factory=Counter)
    """The acknowledgements of Python participants in this process, by their result."""
    refused_triggers: Counter[FailureReason] = field(default_factory=Counter)
    """The checkpoints that did not begin when they were due or asked for in this process, by reason."""

    @property
    def newest(self) -> CompletedCheckpoint | None:
        """The checkpoint that a restart would begin from."""
        return self.latest_completed or self.restored

    def late_total(self, late: Mapping[str, int]) -> dict[str, int]:
        """Return the late records of a checkpoint that follows the newest one, with those of all before it."""
        newest = self.newest
        return dict(Counter(newest.late_total if newest else {}) + Counter(late))

    @classmethod
    def of(cls, events: Iterable[Ended]) -> CheckpointStats:
        """Return the statistics of a job's history, given oldest first."""
        stats = cls()
        for event in events:
            stats.remember(event)
        return stats

    def begin_run(self) -> None:
        """Count from zero what belongs to one run alone."""
        self.run = RunCounts()

    def add(self, ended: Ended) -> None:
        """Take note of a checkpoint of this run that has completed or failed."""
        self.run.add(ended)
        self.remember(ended)

    def remember(self, ended: Ended) -> None:
        """Take note of a checkpoint of any run that has completed or failed."""
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
        """Take note of the checkpoint that an attempt begins from: those after it count no longer as the latest."""
        latest = self.latest_completed
        if latest is not None and (checkpoint is None or not _is_same(latest, checkpoint)):
            self.latest_completed = None
        self.restored = checkpoint
        if checkpoint is not None:
            self.restores += 1


def _is_same(one: CompletedCheckpoint, other: CompletedCheckpoint) -> bool:
    return one.checkpoint_id == other.checkpoint_id and one.triggered_at == other.triggered_at


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
