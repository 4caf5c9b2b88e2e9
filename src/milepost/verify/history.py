"""The history of a row in log order. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Cleared:
    """Marks a column whose older values the record removes."""


CLEARED = Cleared()
Entry = bytes | None | Cleared
Write = tuple[int, tuple[Entry, ...]]


class Effect(NamedTuple):
    """The effect of a record on a row."""

    row: bytes
    version: int
    entries: tuple[Entry, ...] | None
    """One per mapped column; None deletes the row."""


class RowHistory:
    """All writes and deletes of a row, in log order."""

    __slots__ = ("deletes", "first_tries", "key", "origin", "puts")

    def __init__(self, origin: tuple[str, int], key: bytes | None = None) -> None:
        """Start the history of a row that was first seen in this partition, under this Kafka key."""
        self.origin = origin
        self.key = key
        self.puts: list[Write] = []
        self.deletes: list[int] = []
        self.first_tries: list[tuple[int, tuple[Entry, ...] | None]] = []
        """Writes of the first attempt of a batch that was repeated with other versions; None is a delete."""

    def add(self, effect: Effect, first_try: int | None) -> None:
        """Append the effect of a record."""
        if first_try is not None:
            self.first_tries.append((first_try, effect.entries))
        if effect.entries is None:
            self.deletes.append(effect.version)
        else:
            self.puts.append((effect.version, effect.entries))

    def floors(self, width: int) -> list[int]:
        """Return the version of the newest removal by column; -1 if there is none."""
        floors = [max(self.deletes, default=-1)] * width
        for version, entries in self.puts:
            for i, entry in enumerate(entries):
                if entry is CLEARED and version > floors[i]:
                    floors[i] = version
        return floors

    def final(self, width: int) -> list[tuple[bytes, int] | None]:
        """Return the value and version that must be visible by column, or None."""
        floors = self.floors(width)
        final: list[tuple[bytes, int] | None] = [None] * width
        for version, entries in self.puts:
            for i, entry in enumerate(entries):
                if isinstance(entry, bytes) and version > floors[i]:
                    newest = final[i]
                    # Of two writes with the same version the later one in the log wins.
                    if newest is None or version >= newest[1]:
                        final[i] = (entry, version)
        return final
