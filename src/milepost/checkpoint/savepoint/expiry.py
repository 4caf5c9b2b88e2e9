"""Decides when a scheduled savepoint is due and which ones have expired. Pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointRetention:
    """How long scheduled savepoints are kept."""

    max_count: int
    max_age: timedelta | None
    keeps_unrestorable: bool


@dataclass(frozen=True, slots=True)
class Expired:
    """A savepoint that is removed, and why."""

    savepoint: Savepoint
    why: str


def scheduled(found: Sequence[Savepoint], job_name: str) -> list[Savepoint]:
    """Return the savepoints of this job's schedule, newest first. The schedule removes no others."""
    own = [s for s in found if s.trigger is SavepointTrigger.PERIODIC and s.job_name == job_name]
    return sorted(own, key=lambda savepoint: savepoint.taken_at, reverse=True)


def due_in(newest: datetime | None, started: datetime, interval: timedelta, now: datetime) -> float:
    """Return the seconds until the next one is due; a restart of the job does not restart the interval."""
    return max(((newest or started) + interval - now).total_seconds(), 0.0)


def expired(
    own: Sequence[Savepoint],
    retention: SavepointRetention,
    boundaries: Mapping[str, Offsets],
    earliest: Offsets | None,
    now: datetime,
) -> Iterator[Expired]:
    """Yield the expired savepoints of the schedule, newest first; the newest one is always kept.

    `boundaries` are the offsets of each by its name, `earliest` what the broker still has, None if that is unknown.
    """
    for index, each in enumerate(own):
        if index == 0:
            continue
        if index >= retention.max_count:
            yield Expired(each, f"{retention.max_count} newer ones are kept")
        elif retention.max_age is not None and now - each.taken_at > retention.max_age:
            yield Expired(each, "it is too old")
        elif not retention.keeps_unrestorable and (
            gone := unrestorable(boundaries.get(each.name, {}), earliest)
        ):
            yield Expired(each, f"the broker no longer has the next records of {gone}")


def unrestorable(boundary: Offsets, earliest: Offsets | None) -> str | None:
    """Return the first partition in which the broker no longer has the next record, None if it has all."""
    for topic, partitions in sorted((earliest or {}).items()):
        for partition, first in sorted(partitions.items()):
            if boundary.get(topic, {}).get(partition, first) < first:
                return f"{topic}-{partition}"
    return None
