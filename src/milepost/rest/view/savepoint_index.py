"""Finds savepoints of the configured directory by folder name, so that requests never name file paths."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.store.store import Store
from milepost.rest.view.savepoint_targets import is_inside

FRESH_FOR = 2.0
FOLDERS = 200
"""The most subfolders that are searched: a request may name a folder below the directory for its savepoint."""


class SavepointIndex:
    """The savepoints of a directory, listed again when the list is out of date. Thread-safe."""

    def __init__(self, directory: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an index without reading anything; without a directory it is empty."""
        self.directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._known: Mapping[str, Savepoint] = {}

    def savepoints(self) -> Mapping[str, Savepoint]:
        """Return the savepoints by name, newest first."""
        if self.directory is None:
            return {}
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at >= FRESH_FOR:
                self._known = _list_savepoints(self.directory)
                self._read_at = now
            return self._known

    def find(self, name: str) -> Savepoint | None:
        """Return a savepoint by its name."""
        return self.savepoints().get(name)


def _list_savepoints(directory: str) -> dict[str, Savepoint]:
    """Return the savepoints of a directory and its subfolders, by folder name."""
    found = catalog.load_all(directory)
    store, known = Store.at(directory), {_name(each) for each in found}
    for entry in store.entries("")[:FOLDERS]:
        if entry.is_folder and not entry.name.startswith(".") and entry.name not in known:
            found += catalog.load_all(store.address(entry.name))
    found.sort(key=lambda each: each.taken_at, reverse=True)
    return {_name(each): each for each in found if is_inside(directory, each.path)}


def _name(savepoint: Savepoint) -> str:
    return savepoint.path.rstrip("/").rpartition("/")[2]
