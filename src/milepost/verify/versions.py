"""Offset versions: an independent implementation of the eras in docs/protocol.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_GENERATION = 48
_RANGE = 46


@dataclass(frozen=True, slots=True)
class Era:
    """A range of the log of a topic with one scheme of versions."""

    generation: int
    is_timed: bool
    first: Mapping[int, int]
    """The first offset by partition; 0 for other partitions."""
    since: int = 0
    until: int = 0

    def version(self, partition: int, offset: int, timestamp_ms: int | None) -> int:
        """Return the version of a record of this era."""
        head = self.generation << _GENERATION
        if not self.is_timed:
            return head | offset
        distance = offset - self.first.get(partition, 0)
        moment = -1 if timestamp_ms is None else timestamp_ms
        if moment < self.since:
            return head | distance
        if moment >= self.until:
            return head | 2 << _RANGE | distance
        tie_bits = _RANGE - (self.until - self.since).bit_length()
        return head | 1 << _RANGE | (moment - self.since) << tie_bits | distance & ((1 << tie_bits) - 1)


FIRST = (Era(0, False, {}),)
"""The eras of a topic that has never grown."""


def parse_eras(topics: Mapping[str, Any]) -> dict[str, tuple[Era, ...]]:
    """Return the eras of each topic, oldest first."""
    return {
        topic: tuple(
            Era(
                generation=era["generation"],
                is_timed=era["order"] == "time",
                first={int(partition): offset for partition, offset in era["from"].items()},
                since=era.get("since", 0),
                until=era.get("until", 0),
            )
            for era in known["eras"]
        )
        for topic, known in topics.items()
    }


def undone(eras: tuple[Era, ...]) -> int:
    """Return the newest generation whose cells need no record; -1 if there is none.

    A rollback, or a start above the versions of other jobs, replaces an era by a later one.
    """
    return max(
        (
            later.generation - 1
            for index, era in enumerate(eras)
            for later in eras[index + 1 :]
            if _replaces(later, era)
        ),
        default=-1,
    )


def _replaces(later: Era, era: Era) -> bool:
    return all(later.first.get(partition, 0) <= offset for partition, offset in era.first.items())


def era_index(eras: tuple[Era, ...], partition: int, offset: int) -> int:
    """Return the index of the era of a record."""
    for index in range(len(eras) - 1, 0, -1):
        if eras[index].first.get(partition, 0) <= offset:
            return index
    return 0
