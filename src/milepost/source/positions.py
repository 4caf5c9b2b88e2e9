"""Offsets as plain values: flat or nested, merged over sources, and their lag behind the end of the log. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from milepost.checkpoint.model import Offsets

Partition: TypeAlias = tuple[str, int]
"""A topic and the number of one of its partitions."""

Positions: TypeAlias = Mapping[Partition, int]
"""The next offset to read, by partition: Offsets without their nesting."""


def flatten_offsets(offsets: Offsets) -> dict[Partition, int]:
    """Return offsets by partition."""
    return {
        (topic, partition): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


def nest_positions(positions: Positions) -> dict[str, dict[int, int]]:
    """Return positions by topic and partition, in order."""
    offsets: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        offsets.setdefault(topic, {})[partition] = offset
    return offsets


def merge_offsets(sources: Iterable[Offsets]) -> dict[str, dict[int, int]]:
    """Return the offsets of all sources as one; if a view is used twice, the lower offset counts."""
    offsets: dict[str, dict[int, int]] = {}
    for source in sources:
        for topic, partitions in source.items():
            known = offsets.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = min(offset, known.get(partition, offset))
    return offsets


def lag_of(position: int, end: int) -> int:
    """Return how many offsets a position is behind the end of its partition."""
    return max(end - position, 0)


def partition_lags(positions: Offsets, ends: Offsets) -> dict[Partition, int]:
    """Return the lag of every partition whose position and end are known."""
    known = flatten_offsets(positions)
    return {
        partition: lag_of(known[partition], end)
        for partition, end in flatten_offsets(ends).items()
        if partition in known
    }


def total_lag(positions: Offsets, ends: Offsets) -> int:
    """Return how many offsets a job is behind the end of the log; unknown partitions do not count."""
    return sum(partition_lags(positions, ends).values())
