"""Finds the checkpoint that wrote a record: the first one whose boundary is after it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum

from milepost.inspect.checkpoint_details import StoredCheckpoints


class Certainty(Enum):
    """How certain the checkpoint of a record is."""

    EXACT = "this checkpoint wrote it"
    OR_OLDER = "this checkpoint or an older one that is no longer known"
    NOT_YET = "no completed checkpoint includes it yet"
    UNKNOWN = "no known checkpoint includes its partition"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The checkpoint that wrote a record."""

    certainty: Certainty
    checkpoint_id: int | None = None

    def __str__(self) -> str:
        """Return a short description."""
        if self.certainty is Certainty.EXACT:
            return f"checkpoint {self.checkpoint_id}"
        if self.certainty is Certainty.OR_OLDER:
            return f"checkpoint {self.checkpoint_id} or older (older than what is retained)"
        return str(self.certainty.value)


def coverage(stored: StoredCheckpoints, topic: str, partition: int, offset: int) -> Coverage:
    """Return the checkpoint that includes the record; boundaries only increase, so a binary search suffices."""
    ids = stored.positions()

    def boundary(checkpoint_id: int) -> int:
        checkpoint = stored.find(checkpoint_id)
        sources = () if checkpoint is None else checkpoint.sources
        ends = (offsets[topic][partition] for offsets in sources if partition in offsets.get(topic, {}))
        return next(ends, 0)

    if not ids or boundary(ids[-1]) == 0:
        return Coverage(Certainty.UNKNOWN)
    at = bisect_right(ids, offset, key=boundary)
    if at == len(ids):
        return Coverage(Certainty.NOT_YET)
    follows = ids[at] == 0 or (at > 0 and ids[at - 1] == ids[at] - 1)
    return Coverage(Certainty.EXACT if follows else Certainty.OR_OLDER, ids[at])
