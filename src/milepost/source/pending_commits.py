"""Decides which offsets are committed to a consumer group, and when. Pure: time is an argument, in seconds.

`PendingOffsets` keeps the offsets of checkpoints that have not completed; `Ledger` tracks which offsets of the newest
completed checkpoint are not committed yet; `compare` decides which offsets may be committed, given the offsets of the
group. Positions carry topic ids, because Kafka stores group offsets by name and a topic may have been created again.
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
"""The id that the broker assigned to each topic at its creation."""

NO_IDS: TopicIds = {}

MAX_PENDING = 100
"""Maximum number of checkpoints whose offsets are kept, as in Flink."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The positions of a checkpoint, and the ids of their topics."""

    positions: Positions
    topic_ids: TopicIds = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingOffsets:
    """The offsets of checkpoints that have not completed yet, by id: Flink's pendingOffsetsToCommit."""

    by_id: Mapping[int, Boundary] = field(default_factory=dict)

    def remember(self, checkpoint_id: int, boundary: Boundary) -> PendingOffsets:
        """Keep the offsets of a checkpoint; beyond the maximum the lowest id is dropped."""
        kept = {**self.by_id, checkpoint_id: boundary}
        while len(kept) > MAX_PENDING:
            del kept[min(kept)]
        return PendingOffsets(kept)

    def forget(self, checkpoint_id: int) -> PendingOffsets:
        """Drop the offsets of a checkpoint that was aborted."""
        return PendingOffsets({each: kept for each, kept in self.by_id.items() if each != checkpoint_id})

    def take(self, checkpoint_id: int) -> tuple[PendingOffsets, Boundary | None]:
        """Return the remaining offsets, and those of a completed checkpoint; None for an unknown id.

        A completed checkpoint subsumes all older ones; an unknown id changes nothing.
        """
        if checkpoint_id not in self.by_id:
            return self, None
        newer = {each: kept for each, kept in self.by_id.items() if each > checkpoint_id}
        return PendingOffsets(newer), self.by_id[checkpoint_id]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The positions to commit, and the partitions in which the group is ahead."""

    commit: Positions
    ahead: Positions
    """The offsets of the group in partitions in which it is ahead of the checkpoint."""


def compare(wanted: Positions, group: Mapping[Partition, int | None]) -> Comparison:
    """Return what to commit: a group is never moved back; equal offsets are committed again to renew their expiry.

    Partitions that are not in `group` are ignored.
    """
    commit, ahead = {}, {}
    for partition, position in group.items():
        if position is not None and position > wanted[partition]:
            ahead[partition] = position
        else:
            commit[partition] = wanted[partition]
    return Comparison(commit, ahead)


def select_owned(
    found: Mapping[Partition, int | None],
    owners: Mapping[Partition, str],
    *,
    topic_ids: TopicIds,
    disowned: Positions,
) -> dict[Partition, int | None]:
    """Return the offsets of the group in these topics; None for an offset of a deleted topic of the same name.

    `owners` has the topic ids in the metadata of the offsets; `disowned` has the offsets without an owner that the
    start found to belong to deleted topics.
    """

    def position(each: Partition) -> int | None:
        owner = owners.get(each)
        if owner is None:
            return None if found[each] == disowned.get(each) else found[each]
        return found[each] if topic_ids.get(each[0], owner) == owner else None

    return {each: position(each) for each in found}


class CommitMode(Enum):
    """When offsets are committed to the group: Flink's OffsetCommitMode, with the values of the configuration."""

    ON_CHECKPOINTS = "on-checkpoints"
    KAFKA_PERIODIC = "periodic"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When offsets are committed and committed again, and how long a failed partition waits for a retry."""

    mode: CommitMode = CommitMode.ON_CHECKPOINTS
    commit_interval: float = 5.0
    """Time between the ticks of KAFKA_PERIODIC; ticks are multiples of it on the clock."""
    recommit_after: float = 600.0
    """Idle time after which all offsets are committed again, so that none expires."""
    first_retry: float = 1.0
    longest_retry: float = 30.0

    def commit_at(self, completed_at: float) -> float:
        """Return when a checkpoint that completes at this time is committed."""
        if self.mode is CommitMode.ON_CHECKPOINTS:
            return completed_at
        return (math.floor(completed_at / self.commit_interval) + 1) * self.commit_interval

    def retry_at(self, failures: int, now: float) -> float:
        """Return when a partition is retried after this number of consecutive failures."""
        doublings = min(failures - 1, 30)  # avoids an overflow
        return now + min(self.first_retry * 2.0**doublings, self.longest_retry)


@dataclass(frozen=True, slots=True)
class Retry:
    """The retry of a partition: the number of consecutive failures, and the time of the retry."""

    failures: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Which offsets of the newest completed checkpoint are to be committed, and which are committed."""

    schedule: Schedule
    target: Positions = field(default_factory=dict)
    """The offsets of the newest completed checkpoint without dropped partitions: nothing else is ever committed."""
    topic_ids: TopicIds = field(default_factory=dict)
    """The topics that the target belongs to."""
    waiting_until: float | None = None
    """When the target is due; None if it is due already."""
    unsettled: frozenset[Partition] = frozenset()
    """The partitions of the target that are not committed yet."""
    retries: Mapping[Partition, Retry] = field(default_factory=dict)
    dropped: frozenset[Partition] = frozenset()
    """Partitions whose topic was deleted at the last attempt to commit them."""
    recommit_at: float = math.inf
    committed: Positions = field(default_factory=dict)
    ahead: Positions = field(default_factory=dict)
    """The offsets of the group in partitions in which it is ahead of the target: the drift."""

    def complete(self, positions: Positions, now: float, topic_ids: TopicIds = NO_IDS) -> Ledger:
        """Take the offsets of a newly completed checkpoint; they replace waiting offsets and keep their due time."""
        at = self.schedule.commit_at(now)
        waiting = at if self.waiting_until is None else min(self.waiting_until, at)
        return replace(
            self._aim(positions, waiting, now), topic_ids=topic_ids, dropped=self.dropped & positions.keys()
        )

    def restart(self, positions: Positions, now: float, topic_ids: TopicIds = NO_IDS) -> Ledger:
        """Take the offsets of the checkpoint that a job starts from; they are due immediately."""
        return replace(
            self._aim(positions, now, now), topic_ids=topic_ids, dropped=self.dropped & positions.keys()
        )

    def next_due(self) -> float:
        """Return when the next commit is due."""
        return min([self.recommit_at, *map(self.due_at, self.unsettled)])

    def due_at(self, partition: Partition) -> float:
        """Return when an unsettled partition is due: with the target, but not before its retry."""
        waiting = -math.inf if self.waiting_until is None else self.waiting_until
        retry = self.retries.get(partition)
        return waiting if retry is None else max(waiting, retry.at)

    def take_due(self, now: float) -> tuple[Ledger, Positions]:
        """Return the positions to commit now; the caller commits them and then calls `settle`."""
        ledger = self if now < self.recommit_at else self._aim(self.target, now, now)
        due = {each: ledger.target[each] for each in ledger.unsettled if ledger.due_at(each) <= now}
        has_come = ledger.waiting_until is not None and ledger.waiting_until <= now
        return replace(ledger, waiting_until=None) if has_come else ledger, due

    def take_all(self) -> tuple[Ledger, Positions]:
        """Return all positions that are not committed yet, for the last attempt before the end."""
        return replace(self, waiting_until=None), {each: self.target[each] for each in self.unsettled}

    def settle(
        self, tried: Positions, *, failed: frozenset[Partition], ahead: Positions, now: float
    ) -> Ledger:
        """Record the result of a commit; a newer checkpoint that completed meanwhile stays unsettled."""
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
        """Give up partitions whose topic was deleted; a newer checkpoint is tried again."""
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
