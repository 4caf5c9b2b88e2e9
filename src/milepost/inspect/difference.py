"""Compares two checkpoints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.participants.value import size_of
from milepost.inspect.checkpoint_details import KnownCheckpoint
from milepost.source.positions import Partition, Positions, flatten_offsets, merge_offsets


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """The offsets of a partition in both checkpoints; None if a checkpoint does not have it."""

    topic: str
    partition: int
    before: int | None
    after: int | None

    @property
    def records(self) -> int | None:
        """The number of offsets between the checkpoints; a partition that was added starts at 0."""
        return None if self.after is None else self.after - (self.before or 0)


@dataclass(frozen=True, slots=True)
class Written:
    """The total of a writer over the checkpoints between."""

    writer: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Change:
    """A changed value; None on the side that does not have it."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The differences between two checkpoints."""

    before: CompletedCheckpoint
    after: CompletedCheckpoint
    partitions: tuple[PartitionChange, ...]
    written: tuple[Written, ...]
    counted: int
    """The number of checkpoints in `written`; those that are no longer known are missing."""
    between: int
    is_complete: bool
    """Whether both are stored; otherwise changes of states, extra data and eras are not known."""
    states: tuple[Change, ...]
    """The sizes of participant states that differ."""
    operators: tuple[Change, ...]
    """Rows and bytes of the state of each operator, as reported by it."""
    extra: tuple[Change, ...]
    topic_ids: tuple[Change, ...]
    eras: tuple[Change, ...]
    """The number of version eras of each topic."""

    @property
    def elapsed_ms(self) -> int:
        """The time between the completions of both checkpoints."""
        return round((self.after.completed_at - self.before.completed_at).total_seconds() * 1000)


def compare_checkpoints(
    earlier: KnownCheckpoint, later: KnownCheckpoint, find: Callable[[int], CompletedCheckpoint | None]
) -> Difference:
    """Return the differences; `find` returns the checkpoints between, or None for unknown ones."""
    before, after = earlier.checkpoint, later.checkpoint
    is_complete = earlier.is_stored and later.is_stored
    steps = [find(number) for number in range(before.checkpoint_id + 1, after.checkpoint_id)]
    known = [step for step in steps if step is not None]
    if after.checkpoint_id > before.checkpoint_id:
        known.append(after)
    return Difference(
        before=before,
        after=after,
        partitions=tuple(_partitions(positions_of(before), positions_of(after))),
        written=tuple(_written(known)),
        counted=len(known),
        between=max(after.checkpoint_id - before.checkpoint_id, 0),
        is_complete=is_complete,
        states=tuple(_changes(before.states, after.states, size_of)) if is_complete else (),
        operators=tuple(_changes(_operators(before), _operators(after), lambda said: said)),
        extra=tuple(_changes(before.extra, after.extra, lambda value: value)) if is_complete else (),
        topic_ids=tuple(_changes(before.topic_ids, after.topic_ids, lambda topic_id: topic_id)),
        eras=tuple(_changes(before.versions, after.versions, _era_count)) if is_complete else (),
    )


def positions_of(checkpoint: CompletedCheckpoint) -> dict[Partition, int]:
    """Return the offset of every partition of all sources."""
    return flatten_offsets(merge_offsets(checkpoint.sources))


def _partitions(before: Positions, after: Positions) -> Iterable[PartitionChange]:
    for topic, partition in sorted(before.keys() | after.keys()):
        place = (topic, partition)
        yield PartitionChange(topic, partition, before.get(place), after.get(place))


def _written(checkpoints: Iterable[CompletedCheckpoint]) -> list[Written]:
    totals: dict[str, tuple[int, int]] = {}
    for ack in (ack for checkpoint in checkpoints for ack in checkpoint.acknowledgements):
        if ack.participant.startswith("writer/"):
            rows, size = totals.get(ack.participant, (0, 0))
            totals[ack.participant] = (rows + ack.rows, size + ack.bytes)
    return [Written(name, *totals[name]) for name in sorted(totals, key=_by_number)]


def _era_count(topic: Mapping[str, Any]) -> int:
    return len(topic["eras"])


def _by_number(writer: str) -> tuple[int, str]:
    return (len(writer), writer)


def _operators(checkpoint: CompletedCheckpoint) -> dict[str, tuple[int, int]]:
    acks = (ack for ack in checkpoint.acknowledgements if ack.participant.startswith("state/"))
    return {ack.participant: (ack.rows, ack.bytes) for ack in acks}


def _changes(
    before: Mapping[str, Any], after: Mapping[str, Any], shown: Callable[[Any], Any]
) -> Iterable[Change]:
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after or before[name] != after[name]:
            yield Change(
                name,
                shown(before[name]) if name in before else None,
                shown(after[name]) if name in after else None,
            )
