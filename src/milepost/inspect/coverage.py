"""Which checkpoint a record was written in: the first one whose boundary lies behind it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum

from milepost.inspect.checkpoint_details import Stored


class Certainty(Enum):
    """How well the checkpoint of a record is known."""

    EXACT = "this one wrote it"
    OR_OLDER = "this one or an older one, of which nothing is known any more"
    NOT_YET = "no completed checkpoint has it yet"
    UNKNOWN = "no checkpoint is known that has its partition"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The checkpoint that a record was written in."""

    certainty: Certainty
    checkpoint_id: int | None = None

    def __str__(self) -> str:
        """Return it in a few words."""
        if self.certainty is Certainty.EXACT:
            return f"checkpoint {self.checkpoint_id}"
        if self.certainty is Certainty.OR_OLDER:
            return f"checkpoint {self.checkpoint_id} or older (older than what is retained)"
        return str(self.certainty.value)


def coverage(stored: Stored, topic: str, partition: int, offset: int) -> Coverage:
    """Return which of the known checkpoints has the record; boundaries only go forward, so few are read."""
    ids = stored.positions()

    def boundary(checkpoint_id: int) -> int:
        checkpoint = stored.told(checkpoint_id)
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
