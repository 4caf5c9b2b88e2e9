"""Decides how long a checkpoint can still be restored, from what the broker says. Pure: the time is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a topic's records go; None is no limit."""

    deletes: bool = True
    compacts: bool = False
    retention_ms: int | None = None
    retention_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What the broker has of one partition at and after a checkpoint's offset."""

    earliest: int
    latest: int
    first_ms: int | None = None
    """The time of the first record that a restore would read; None where it has none or could not be read."""
    bytes: int | None = None
    """About how much there is to read."""


class Standing(Enum):
    """Whether a partition can be read on from a checkpoint."""

    RESTORABLE = "its records are there"
    CAUGHT_UP = "everything was read; only what is written from now on can go"
    UNRESTORABLE = "records after it are gone"
    UNKNOWN = "the broker does not say"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one partition stands, and for how long."""

    standing: Standing
    left_ms: int | None = None
    """The least time that it stays so; None where no time limits it, or nobody knows."""
    note: str = ""

    @property
    def is_lost(self) -> bool:
        """Return whether a restore would miss records."""
        return self.standing is Standing.UNRESTORABLE


def judge(offset: int, unread: Unread, policy: Policy, now_ms: int) -> Verdict:
    """Return whether the partition can be read on from the offset, and for how long at least.

    Kafka deletes whole segments, when the newest record in one is too old: so the time is a lower bound.
    """
    if offset < unread.earliest:
        return Verdict(Standing.UNRESTORABLE, note=f"{unread.earliest - offset:,} offsets after it are gone")
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


def shortest(verdicts: list[Verdict]) -> int | None:
    """Return the least time of all; None where no time limits them."""
    return min((verdict.left_ms for verdict in verdicts if verdict.left_ms is not None), default=None)


def _by_size(unread: Unread, policy: Policy) -> str:
    if not policy.deletes or policy.retention_bytes is None or unread.bytes is None:
        return ""
    return f"by size: {100 * unread.bytes // max(policy.retention_bytes, 1)} % of limit"
