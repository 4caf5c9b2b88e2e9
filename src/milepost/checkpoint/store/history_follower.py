"""Follows a history: reads it once, and then only the added lines, so clients may poll it every second."""

from __future__ import annotations

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.history import Event, event_of
from milepost.checkpoint.store.store import Store

# A file begins with the time of its first event: enough to know it again.
_HEAD = 256


class HistoryFollower:
    """The read position in the history of one checkpoint directory; not thread-safe."""

    def __init__(self, store: Store) -> None:
        """Read nothing yet."""
        self._store = store
        self._head: bytes | None = None
        self._read = 0

    def news(self) -> list[Event]:
        """Return what was added since the last call, oldest first; at the first call everything there is."""
        head = self._piece(names.HISTORY, 0, _HEAD)
        lines: list[bytes] = []
        if self._head is None or not head.startswith(self._head):
            # The first look, or a new file has begun: what was not read of the one before is in the older one now.
            lines, _ = self._added(names.OLDER_HISTORY, self._read)
            self._read = 0
        added, self._read = self._added(names.HISTORY, self._read)
        self._head = head
        return [event for line in (*lines, *added) if (event := event_of(line)) is not None]

    def _added(self, name: str, start: int) -> tuple[list[bytes], int]:
        """Return the complete lines of a file after a position, and the position after them."""
        data = self._piece(name, start, -1)
        end = data.rfind(b"\n") + 1
        return data[:end].splitlines(), start + end

    def _piece(self, name: str, start: int, length: int) -> bytes:
        try:
            with self._store.reading(name) as file:
                file.seek(start)
                return file.read(length)
        except FileNotFoundError:
            return b""
