"""Finds the positions in the log that a cell version may come from: the inverse of docs/protocol.md. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from milepost.verify.versions import FIRST, Era, era_index

_GENERATION = 48
_RANGE = 46
_IN_BETWEEN = 1

Eras = Mapping[str, tuple[Era, ...]]
"""The version eras of each topic, oldest first."""


class Place(NamedTuple):
    """The position of a record in the log, and the generation of its version."""

    topic: str
    partition: int
    offset: int
    generation: int


def generation_of(version: int) -> int:
    """Return the generation of an `offset` or `checkpoint` version."""
    return version >> _GENERATION


def checkpoint_of(version: int) -> int:
    """Return the checkpoint of a `checkpoint` version."""
    return version & ((1 << _GENERATION) - 1)


def places(version: int, eras: Eras, ends: Mapping[tuple[str, int], int]) -> list[Place]:
    """Return every position that an `offset` version may come from; `ends` has the end of each partition.

    An offset version does not contain the partition: records of several partitions may have the same one.
    """
    return [
        Place(topic, partition, offset, generation_of(version))
        for (topic, partition), end in sorted(ends.items())
        for offset in _of_partition(version, eras.get(topic, FIRST), partition, end)
    ]


def version_of(eras: Eras, place: tuple[str, int, int], timestamp_ms: int | None) -> int:
    """Return the version of the cells of a record."""
    topic, partition, offset = place
    known = eras.get(topic, FIRST)
    return known[era_index(known, partition, offset)].version(partition, offset, timestamp_ms)


def _of_partition(version: int, eras: tuple[Era, ...], partition: int, end: int) -> Iterator[int]:
    for index, era in enumerate(eras):
        if era.generation != generation_of(version):
            continue
        for offset in _of_era(version & ((1 << _GENERATION) - 1), era, partition, end):
            found = era_index(eras, partition, offset)
            # A batch in which the topic grew was first written with versions of the previous era.
            is_first_try = found == index + 1 and eras[found].is_timed
            if found == index or is_first_try:
                yield offset


def _of_era(low: int, era: Era, partition: int, end: int) -> Iterator[int]:
    if not era.is_timed:
        if low < end:
            yield low
        return
    first, rest = era.first.get(partition, 0), low & ((1 << _RANGE) - 1)
    if low >> _RANGE != _IN_BETWEEN:
        if first + rest < end:
            yield first + rest
        return
    tie_bits = _RANGE - (era.until - era.since).bit_length()
    # The version contains only the low bits of the distance.
    yield from range(first + (rest & ((1 << tie_bits) - 1)), end, 1 << tie_bits)
