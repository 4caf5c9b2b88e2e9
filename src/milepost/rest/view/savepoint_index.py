"""The savepoints of the configured directory, by the names of their folders: a request never names a path."""

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
"""A request may ask for a savepoint in a folder below the directory; so many are looked into."""


class Shelf:
    """What lies in a directory of savepoints, looked at now and then; may be used from several threads."""

    def __init__(self, directory: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Read nothing yet; without a directory there are none."""
        self.directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at: float | None = None
        self._known: Mapping[str, Savepoint] = {}

    def savepoints(self) -> Mapping[str, Savepoint]:
        """Return the savepoints by name, newest first."""
        if self.directory is None:
            return {}
        with self._lock:
            now = self._clock()
            if self._looked_at is None or now - self._looked_at >= FRESH_FOR:
                self._known = _listed(self.directory)
                self._looked_at = now
            return self._known

    def find(self, name: str) -> Savepoint | None:
        """Return the savepoint of a name."""
        return self.savepoints().get(name)


def _listed(directory: str) -> dict[str, Savepoint]:
    """Return the savepoints of a directory and of the folders in it, by the names of their own folders."""
    found = catalog.load_all(directory)
    store, known = Store.at(directory), {_name(each) for each in found}
    for entry in store.entries("")[:FOLDERS]:
        if entry.is_folder and not entry.name.startswith(".") and entry.name not in known:
            found += catalog.load_all(store.address(entry.name))
    found.sort(key=lambda each: each.taken_at, reverse=True)
    return {_name(each): each for each in found if is_inside(directory, each.path)}


def _name(savepoint: Savepoint) -> str:
    return savepoint.path.rstrip("/").rpartition("/")[2]
