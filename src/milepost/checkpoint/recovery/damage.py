"""Decides which files of a checkpoint directory are damaged. Pure: the content that was read is an argument."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from json import JSONDecodeError

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store.layout import COMMITS, OFFSETS

RESTORE = "Restore it from a copy of the directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One damaged file of a checkpoint directory."""

    name: str
    what: str
    """The predicate of the sentence: `is missing`, `is damaged`."""
    why: str
    fix: str = RESTORE
    batch_id: int | None = None
    """The batch that cannot be resumed from because of it; None if none can."""


@dataclass(frozen=True, slots=True)
class Logs:
    """Which batches have an entry in Spark's two logs."""

    offsets: frozenset[int]
    commits: frozenset[int]

    @property
    def newest_completed(self) -> int | None:
        """Return the newest batch that both have."""
        return max(self.offsets & self.commits, default=None)


def fault_of(error: Exception, data: bytes) -> str:
    """Return why a file of Milepost cannot be read, for users and not in the words of a parser."""
    if not data.strip():
        return "it is empty"
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if isinstance(error, UnicodeDecodeError):
        return "it is cut off" if error.reason == "unexpected end of data" else "it is not text"
    if isinstance(error, JSONDecodeError):
        is_cut = error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())
        return f"it is cut off after {len(data)} bytes" if is_cut else "it is not JSON"
    return str(error) if isinstance(error, ValueError) else "it does not have the expected form"


def gaps(logs: Logs) -> Iterator[Damage]:
    """Find the entries that are missing. The oldest ones are purged by Spark, the offset log's first."""
    known = sorted(logs.offsets)
    newest = known[-1] if known else -1
    for before, after in pairwise(known):
        if after != before + 1:
            why = f"{OFFSETS}/{before} and {OFFSETS}/{after} exist, and Spark leaves none out"
            yield _missing(OFFSETS, before + 1, why)
    if len(known) == 1 and newest > 0:
        why = f"to resume from {OFFSETS}/{newest}, Spark needs the entry before it too"
        yield _missing(OFFSETS, newest - 1, why)
    for batch_id in known[:-1]:
        if batch_id not in logs.commits and batch_id >= min(logs.commits, default=0):
            why = f"{OFFSETS}/{batch_id + 1} exists, and Spark starts a batch only when the previous one is done"
            yield _missing(COMMITS, batch_id, why)
    for batch_id in sorted(logs.commits):
        if batch_id > newest:
            yield _missing(OFFSETS, batch_id, f"{COMMITS}/{batch_id} shows that the batch is done")


def _missing(log: str, batch_id: int, why: str) -> Damage:
    return Damage(name=f"{log}/{batch_id}", what="is missing", why=why, batch_id=batch_id)


def missteps(read: Mapping[int, tuple[Offsets, ...]], began: Mapping[int, Offsets]) -> Iterator[Damage]:
    """Find entries of the offset log that do not follow from the one before.

    `began` has the first offsets of the sources, by their number. A source never loses a partition or moves it back.
    """
    ids = sorted(read)
    for source, offsets in enumerate(read[ids[0]] if ids else ()):
        why = lost((began.get(source, {}),), (offsets,)) if offsets else None
        if why is not None:
            what = f"does not continue from the start of source {source}"
            yield Damage(name=f"{OFFSETS}/{ids[0]}", what=what, why=why, batch_id=ids[0])
    for before, after in pairwise(ids):
        why = lost(read[before], read[after])
        if why is not None:
            what = f"does not continue from {OFFSETS}/{before}"
            yield Damage(name=f"{OFFSETS}/{after}", what=what, why=why, batch_id=after)
        why = gone_back(read[before], read[after])
        if why is not None:
            # It is unknown which of the two is wrong, so neither is resumed from.
            what = f"is behind {OFFSETS}/{before}"
            yield Damage(name=f"{OFFSETS}/{after}", what=what, why=why, batch_id=after)
            what = f"is ahead of {OFFSETS}/{after}"
            yield Damage(name=f"{OFFSETS}/{before}", what=what, why=why, batch_id=before)


def lost(before: tuple[Offsets, ...], after: tuple[Offsets, ...]) -> str | None:
    """Return what the later of two boundaries no longer has, or None."""
    if len(before) != len(after):
        return f"the number of its sources is {len(after)} and was {len(before)}"
    for earlier, later in zip(before, after, strict=True):
        for topic, partitions in earlier.items():
            if topic not in later:
                return f"topic {topic!r} is gone"
            missing = partitions.keys() - later[topic].keys()
            if missing:
                return f"partition {min(missing)} of topic {topic!r} is gone"
    return None


def gone_back(before: tuple[Offsets, ...], after: tuple[Offsets, ...]) -> str | None:
    """Return which partition's offset is lower at the later of two boundaries, or None."""
    for earlier, later in zip(before, after, strict=False):
        for topic, partitions in earlier.items():
            for partition, offset in partitions.items():
                then = later.get(topic, {}).get(partition, offset)
                if then < offset:
                    return f"partition {partition} of topic {topic!r} goes back from {offset} to {then}"
    return None


def is_checksum_of(sums: bytes, data: bytes) -> bool:
    """Return whether a `.crc` file of Hadoop's matches a file; Hadoop ignores one with another header."""
    if len(sums) < 8 or not sums.startswith(b"crc\0"):
        return True
    (chunk,) = struct.unpack_from(">I", sums, 4)
    if chunk == 0:
        return False
    expected = [zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    return sums[8:] == struct.pack(f">{len(expected)}I", *expected)


def resumable(logs: Logs, damage: Collection[Damage]) -> int | None:
    """Return the newest batch that can be resumed from in spite of the damage, or None.

    It is complete, nothing of it is damaged, and Spark finds the offsets of the batch before it.
    """
    damaged = {found.batch_id for found in damage}
    if None in damaged:
        return None
    without_offsets = {found.batch_id for found in damage if found.name.startswith(f"{OFFSETS}/")}
    whole = (logs.offsets & logs.commits) - damaged
    good = [b for b in whole if b == 0 or (b - 1 in logs.offsets and b - 1 not in without_offsets)]
    return max(good, default=None)
