"""Decides how long a checkpoint can be restored, from the facts of the broker. Pure: the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The retention of a topic; None means no limit."""

    deletes: bool = True
    compacts: bool = False
    retention_ms: int | None = None
    retention_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """The records of a partition from the offset of a checkpoint."""

    earliest: int
    latest: int
    first_ms: int | None = None
    """The timestamp of the first record to read; None if it has none or could not be read."""
    bytes: int | None = None
    """The approximate size of the records to read."""


class Standing(Enum):
    """Whether a partition can be resumed from a checkpoint."""

    RESTORABLE = "its records exist"
    CAUGHT_UP = "everything was read; only new records can be deleted"
    UNRESTORABLE = "records after it were deleted"
    UNKNOWN = "the broker does not report it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a partition can be restored, and for how long."""

    standing: Standing
    left_ms: int | None = None
    """The minimum time that this holds; None if it is unlimited or unknown."""
    note: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether a restore would miss records."""
        return self.standing is Standing.UNRESTORABLE


def judge(offset: int, unread: Unread, policy: Policy, now_ms: int) -> Verdict:
    """Return whether the partition can be resumed at the offset, and for how long at least.

    Kafka deletes a segment when its newest record is too old, so the time is a lower bound.
    """
    if offset < unread.earliest:
        return Verdict(
            Standing.UNRESTORABLE, note=f"{unread.earliest - offset:,} offsets after it were deleted"
        )
    if offset > unread.latest:
        return Verdict(
            Standing.UNRESTORABLE, note=f"the log ends {offset - unread.latest:,} offsets before it"
        )
    limit = policy.retention_ms if policy.deletes else None
    if offset == unread.latest:
        return Verdict(Standing.CAUGHT_UP, limit)
    note = _by_size(unread, policy) or ("compacted" if policy.compacts and not policy.deletes else "")
    if limit is None:
        return Verdict(Standing.RESTORABLE, None, note)
    if unread.first_ms is None:
        return Verdict(Standing.RESTORABLE, None, note or "its first record could not be read")
    return Verdict(Standing.RESTORABLE, max(unread.first_ms + limit - now_ms, 0), note)


def shortest_time_left(verdicts: list[Verdict]) -> int | None:
    """Return the minimum of the times; None if none is limited."""
    return min((verdict.left_ms for verdict in verdicts if verdict.left_ms is not None), default=None)


def _by_size(unread: Unread, policy: Policy) -> str:
    if not policy.deletes or policy.retention_bytes is None or unread.bytes is None:
        return ""
    return f"by size: {100 * unread.bytes // max(policy.retention_bytes, 1)} % of limit"
