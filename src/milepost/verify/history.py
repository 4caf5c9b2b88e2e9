"""What the log does to one row, in log order; pure."""

from __future__ import annotations

from typing import NamedTuple


class Cleared:
    """Stands in a write for a column whose older values the record removes."""


CLEARED = Cleared()
Entry = bytes | None | Cleared
Write = tuple[int, tuple[Entry, ...]]


class Effect(NamedTuple):
    """What one record does to one row."""

    row: bytes
    version: int
    entries: tuple[Entry, ...] | None
    """One per mapped column; None deletes the row."""


class RowHistory:
    """Everything the log did to one row, in log order."""

    __slots__ = ("deletes", "first_tries", "key", "origin", "puts")

    def __init__(self, origin: tuple[str, int], key: bytes | None = None) -> None:
        """Start the history of a row that was first seen in this partition, under this Kafka key."""
        self.origin = origin
        self.key = key
        self.puts: list[Write] = []
        self.deletes: list[int] = []
        self.first_tries: list[tuple[int, tuple[Entry, ...] | None]] = []
        """What a batch may have written before it was run again with other versions; None is a delete."""

    def add(self, effect: Effect, first_try: int | None) -> None:
        """Append what a record does to the row."""
        if first_try is not None:
            self.first_tries.append((first_try, effect.entries))
        if effect.entries is None:
            self.deletes.append(effect.version)
        else:
            self.puts.append((effect.version, effect.entries))

    def floors(self, width: int) -> list[int]:
        """Return per column the version of the newest removal; -1 where there is none."""
        floors = [max(self.deletes, default=-1)] * width
        for version, entries in self.puts:
            for i, entry in enumerate(entries):
                if entry is CLEARED and version > floors[i]:
                    floors[i] = version
        return floors

    def final(self, width: int) -> list[tuple[bytes, int] | None]:
        """Return per column the value and version that must be visible, or None."""
        floors = self.floors(width)
        final: list[tuple[bytes, int] | None] = [None] * width
        for version, entries in self.puts:
            for i, entry in enumerate(entries):
                if isinstance(entry, bytes) and version > floors[i]:
                    newest = final[i]
                    # Of two writes with one version the later in the log is the one that stays.
                    if newest is None or version >= newest[1]:
                        final[i] = (entry, version)
        return final
