"""The details of a checkpoint, from its manifest or from the history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError, PreflightError

_VERSION = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file, or the state files of an operator, and its size."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class KnownCheckpoint:
    """A completed checkpoint from its manifest or from the history."""

    checkpoint: CompletedCheckpoint
    is_stored: bool
    """Whether it is from its manifest; the history has no states, extra data, eras or details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """A completed checkpoint with its neighbours, failed attempts and files."""

    checkpoint: CompletedCheckpoint
    is_stored: bool
    before: CompletedCheckpoint | None
    """The previous checkpoint, if it is known."""
    next_triggered_at: datetime | None
    failures: tuple[FailedCheckpoint, ...]
    """The failed attempts at the same checkpoint."""
    files: tuple[FileSize, ...]


class StoredCheckpoints:
    """A snapshot of the checkpoints in a directory."""

    def __init__(self, store: Store) -> None:
        """Read the history and the names of the manifests."""
        self.store = store
        self.ids = CheckpointFiles(store).ids()
        self._completed: dict[int, CompletedCheckpoint] = {}
        self._failed: dict[int, list[FailedCheckpoint]] = {}
        for event in History(store).events():
            if isinstance(event, CompletedCheckpoint):
                # The newest event of an id counts: --fresh restarts the ids.
                self._completed.setdefault(event.checkpoint_id, event)
            elif isinstance(event, FailedCheckpoint):
                self._failed.setdefault(event.checkpoint_id, []).append(event)

    def newest(self) -> KnownCheckpoint:
        """Return the newest stored checkpoint."""
        for checkpoint_id in reversed(self.ids):
            found = self.manifest(checkpoint_id)
            if found is not None:
                return KnownCheckpoint(found, is_stored=True)
        raise NotReachableError(
            f"{self.store.address('')} has no completed checkpoint",
            why=self._present(),
            fix="Run the job first",
        )

    def manifest(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a checkpoint from its manifest; None if it is no longer stored."""
        return CheckpointFiles(self.store).get(checkpoint_id)

    def find(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a completed checkpoint from the history or else from its manifest: enough for offsets and counts."""
        recorded = self._completed.get(checkpoint_id)
        if recorded is not None:
            return recorded
        try:
            return self.manifest(checkpoint_id)
        except PreflightError:
            return None

    def require(self, checkpoint_id: int) -> KnownCheckpoint:
        """Return a completed checkpoint; refuse an unknown one, and a damaged manifest."""
        stored = self.manifest(checkpoint_id)
        found = stored or self._completed.get(checkpoint_id)
        if found is None:
            failures = self._failed.get(checkpoint_id)
            why = f"it failed: {failures[0].reason.name} {failures[0].detail}; " if failures else ""
            raise NotReachableError(
                f"There is no completed checkpoint {checkpoint_id} in {self.store.address('')}",
                why=why + self._present(),
                fix="Use one of these; `milepost checkpoint list` lists them",
            )
        return KnownCheckpoint(found, is_stored=stored is not None)

    def positions(self) -> list[int]:
        """Return the known ids since the last --fresh, oldest first."""
        newest = self.ids[-1] if self.ids else max(self._completed, default=-1)
        return sorted({*self.ids, *(number for number in self._completed if number <= newest)})

    def details(self, checkpoint_id: int) -> Details:
        """Return the details of a checkpoint."""
        known = self.require(checkpoint_id)
        following = self.find(checkpoint_id + 1)
        return Details(
            checkpoint=known.checkpoint,
            is_stored=known.is_stored,
            before=self.find(checkpoint_id - 1),
            next_triggered_at=None if following is None else following.triggered_at,
            failures=tuple(self._failed.get(checkpoint_id, ())),
            files=tuple(_files(self.store, checkpoint_id)),
        )

    def _present(self) -> str:
        stored = f"{self.ids[0]} to {self.ids[-1]} are stored" if self.ids else "none is stored"
        recorded = f", and the history reaches back to {min(self._completed)}" if self._completed else ""
        return stored + recorded


def _files(store: Store, checkpoint_id: int) -> Iterator[FileSize]:
    for name in (
        names.manifest_of(checkpoint_id),
        names.sealed_of(checkpoint_id),
        f"{names.OFFSETS}/{checkpoint_id}",
        f"{names.COMMITS}/{checkpoint_id}",
    ):
        if store.is_file(name):
            yield FileSize(name, store.size(name))
    for operator, size in state_sizes(store, checkpoint_id).items():
        yield FileSize(f"{names.STATE}/{operator}/*/{checkpoint_id + 1}.*", size)


def state_sizes(store: Store, checkpoint_id: int) -> Mapping[str, int]:
    """Return the size of the state files that this checkpoint added, by operator; other files are shared."""
    sizes: dict[str, int] = {}
    for entry in store.entries(names.STATE):
        if not entry.is_folder:
            continue
        for name in store.walk(f"{names.STATE}/{entry.name}"):
            version = _VERSION.match(name.rpartition("/")[2])
            # The state after batch N is version N + 1.
            if version is not None and int(version.group()) == checkpoint_id + 1:
                sizes[entry.name] = sizes.get(entry.name, 0) + store.size(name)
    return sizes
