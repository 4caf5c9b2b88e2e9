"""Decides which offsets a consumer group is told, and when. Pure: time is an argument, in seconds of one clock.

`PendingOffsets` keeps what may be committed once its checkpoint completes; `Ledger` is what the group has yet to be
told of the newest completed one; `compare` is what may be written, given where the group stands. Positions carry the
ids of their topics: Kafka keeps group offsets by name, and a topic of the same name may be another one by now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias, TypeVar

from milepost.source.positions import Partition, Positions

_V = TypeVar("_V")

TopicIds: TypeAlias = Mapping[str, str]
"""The id that the broker gave each topic when it was created."""

NO_IDS: TopicIds = {}

MAX_PENDING = 100
"""Most checkpoints whose offsets are kept, as in Flink."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where one checkpoint stands, and the ids of the topics that its positions belong to."""

    positions: Positions
    topic_ids: TopicIds = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingOffsets:
    """The offsets of checkpoints that have not completed yet, by id: Flink's pendingOffsetsToCommit."""

    by_id: Mapping[int, Boundary] = field(default_factory=dict)

    def remember(self, checkpoint_id: int, boundary: Boundary) -> PendingOffsets:
        """Keep the offsets of a checkpoint; the lowest id goes when there are too many."""
        kept = {**self.by_id, checkpoint_id: boundary}
        while len(kept) > MAX_PENDING:
            del kept[min(kept)]
        return PendingOffsets(kept)

    def forget(self, checkpoint_id: int) -> PendingOffsets:
        """Drop the offsets of a checkpoint that was aborted."""
        return PendingOffsets({each: kept for each, kept in self.by_id.items() if each != checkpoint_id})

    def take(self, checkpoint_id: int) -> tuple[PendingOffsets, Boundary | None]:
        """Return the offsets of a completed checkpoint, None for an unknown id, and what is left.

        A completed checkpoint subsumes every older one; an unknown id changes nothing.
        """
        if checkpoint_id not in self.by_id:
            return self, None
        newer = {each: kept for each, kept in self.by_id.items() if each > checkpoint_id}
        return PendingOffsets(newer), self.by_id[checkpoint_id]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What may be written to a group, and where it must be left alone."""

    commit: Positions
    ahead: Positions
    """Where the group stands, in partitions where that is beyond the checkpoint."""


def compare(wanted: Positions, group: Mapping[Partition, int | None]) -> Comparison:
    """Return what to commit: a group is never moved back, and one that is level is told again, which renews its expiry.

    A partition that `group` does not name is not decided about.
    """
    commit, ahead = {}, {}
    for partition, position in group.items():
        if position is not None and position > wanted[partition]:
            ahead[partition] = position
        else:
            commit[partition] = wanted[partition]
    return Comparison(commit, ahead)


def of_topics(
    found: Mapping[Partition, int | None],
    owners: Mapping[Partition, str],
    *,
    topic_ids: TopicIds,
    disowned: Positions,
) -> dict[Partition, int | None]:
    """Return where the group stands in these topics; an offset that belongs to another topic of that name is none.

    `owners` is what the offsets say of themselves; `disowned` is what the start has found out about those that do not.
    """

    def position(each: Partition) -> int | None:
        owner = owners.get(each)
        if owner is None:
            return None if found[each] == disowned.get(each) else found[each]
        return found[each] if topic_ids.get(each[0], owner) == owner else None

    return {each: position(each) for each in found}


class CommitMode(Enum):
    """When offsets are committed to the group: Flink's OffsetCommitMode, in the words of the configuration."""

    ON_CHECKPOINTS = "on-checkpoints"
    KAFKA_PERIODIC = "periodic"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When offsets are committed, when they are committed again, and how long a failed partition waits."""

    mode: CommitMode = CommitMode.ON_CHECKPOINTS
    commit_interval: float = 5.0
    """Between the ticks of KAFKA_PERIODIC; a tick is a multiple of it on the clock."""
    recommit_after: float = 600.0
    """Idle time after which everything is committed again, so that no partition's offset expires."""
    first_retry: float = 1.0
    longest_retry: float = 30.0

    def commit_at(self, completed_at: float) -> float:
        """Return when a checkpoint that completes now is committed."""
        if self.mode is CommitMode.ON_CHECKPOINTS:
            return completed_at
        return (math.floor(completed_at / self.commit_interval) + 1) * self.commit_interval

    def retry_at(self, failures: int, now: float) -> float:
        """Return when a partition is tried again that has failed so many times in a row."""
        doublings = min(failures - 1, 30)  # more would only overflow
        return now + min(self.first_retry * 2.0**doublings, self.longest_retry)


@dataclass(frozen=True, slots=True)
class Retry:
    """A partition that could not be committed: how often in a row, and when it is tried again."""

    failures: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the group has yet to be told of the newest completed checkpoint, and what it is known to have."""

    schedule: Schedule
    target: Positions = field(default_factory=dict)
    """The offsets of the newest completed checkpoint, without what was dropped: nothing else is ever committed."""
    topic_ids: TopicIds = field(default_factory=dict)
    """The topics that the target belongs to."""
    waiting_until: float | None = None
    """When the target's turn comes; None once it has come."""
    unsettled: frozenset[Partition] = frozenset()
    """What of the target is not committed yet."""
    retries: Mapping[Partition, Retry] = field(default_factory=dict)
    dropped: frozenset[Partition] = frozenset()
    """What could never be committed when it was last tried, since its topic is gone."""
    recommit_at: float = math.inf
    committed: Positions = field(default_factory=dict)
    ahead: Positions = field(default_factory=dict)
    """Where the group stands, in partitions where it was found beyond the target: the drift."""

    def complete(self, positions: Positions, now: float, topic_ids: TopicIds = NO_IDS) -> Ledger:
        """Take the offsets of a newly completed checkpoint; they replace what was waiting, in its place."""
        at = self.schedule.commit_at(now)
        waiting = at if self.waiting_until is None else min(self.waiting_until, at)
        return replace(
            self._aim(positions, waiting, now), topic_ids=topic_ids, dropped=self.dropped & positions.keys()
        )

    def restart(self, positions: Positions, now: float, topic_ids: TopicIds = NO_IDS) -> Ledger:
        """Take the offsets of the checkpoint that a job starts from; they are compared with the group at once."""
        return replace(
            self._aim(positions, now, now), topic_ids=topic_ids, dropped=self.dropped & positions.keys()
        )

    def next_due(self) -> float:
        """Return when there is something to do next."""
        return min([self.recommit_at, *map(self.due_at, self.unsettled)])

    def due_at(self, partition: Partition) -> float:
        """Return when an unsettled partition is tried: in the target's turn, and not before its own next try."""
        waiting = -math.inf if self.waiting_until is None else self.waiting_until
        retry = self.retries.get(partition)
        return waiting if retry is None else max(waiting, retry.at)

    def take_due(self, now: float) -> tuple[Ledger, Positions]:
        """Return what is to be committed now: the caller tries it and then calls `settle`."""
        ledger = self if now < self.recommit_at else self._aim(self.target, now, now)
        due = {each: ledger.target[each] for each in ledger.unsettled if ledger.due_at(each) <= now}
        has_come = ledger.waiting_until is not None and ledger.waiting_until <= now
        return replace(ledger, waiting_until=None) if has_come else ledger, due

    def take_all(self) -> tuple[Ledger, Positions]:
        """Return everything that is not committed yet, due or not: the last try before the end."""
        return replace(self, waiting_until=None), {each: self.target[each] for each in self.unsettled}

    def settle(
        self, tried: Positions, *, failed: frozenset[Partition], ahead: Positions, now: float
    ) -> Ledger:
        """Take down what became of a try. A newer checkpoint that has come meanwhile stays unsettled."""
        done = {each: offset for each, offset in tried.items() if each not in failed}
        retries = {each: retry for each, retry in self.retries.items() if each not in done}
        for each in failed:
            failures = retries[each].failures + 1 if each in retries else 1
            retries[each] = Retry(failures, self.schedule.retry_at(failures, now))
        drift = {each: found for each, found in self.ahead.items() if each not in done} | dict(ahead)
        return replace(
            self,
            dropped=self.dropped - done.keys(),
            unsettled=self.unsettled - done.keys() if self.waiting_until is None else self.unsettled,
            retries={each: retry for each, retry in retries.items() if each in self.target},
            committed={**self.committed, **done, **ahead},
            ahead=_beyond(drift, self.target),
        )

    def drop(self, partitions: frozenset[Partition]) -> Ledger:
        """Give up what no later try could commit: its topic is gone. A newer checkpoint is tried for itself."""
        dropped = self.dropped | partitions
        if self.waiting_until is not None:
            return replace(self, dropped=dropped)

        def kept(values: Mapping[Partition, _V]) -> dict[Partition, _V]:
            return {each: value for each, value in values.items() if each not in partitions}

        return replace(
            self,
            target=kept(self.target),
            dropped=dropped,
            unsettled=self.unsettled - partitions,
            retries=kept(self.retries),
            committed=kept(self.committed),
            ahead=kept(self.ahead),
        )

    def _aim(self, positions: Positions, at: float, now: float) -> Ledger:
        return replace(
            self,
            target=positions,
            waiting_until=at,
            unsettled=frozenset(positions),
            retries={each: retry for each, retry in self.retries.items() if each in positions},
            recommit_at=now + self.schedule.recommit_after,
            ahead=_beyond(self.ahead, positions),
        )


def _beyond(found: Positions, target: Positions) -> Positions:
    return {each: offset for each, offset in found.items() if each in target and offset > target[each]}
