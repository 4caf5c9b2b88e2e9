"""One checkpoint of a directory with all that is known of it, from its manifest or else from the history."""

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
    """A file, or the files of one operator's state, and its bytes."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Known:
    """A completed checkpoint as far as it is known."""

    checkpoint: CompletedCheckpoint
    is_stored: bool
    """Whether its manifest was read; the history has no states, no extra data, no eras and no details."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """A completed checkpoint, and what lies around it."""

    checkpoint: CompletedCheckpoint
    is_stored: bool
    before: CompletedCheckpoint | None
    """The checkpoint before it, where it is known."""
    next_triggered_at: datetime | None
    failures: tuple[FailedCheckpoint, ...]
    """The attempts at the same checkpoint that failed."""
    files: tuple[FileSize, ...]


class Stored:
    """The checkpoints of one directory as they were when it was first looked into."""

    def __init__(self, store: Store) -> None:
        """Read the history, which is bounded, and the names of the manifests."""
        self.store = store
        self.ids = CheckpointFiles(store).ids()
        self._told: dict[int, CompletedCheckpoint] = {}
        self._failed: dict[int, list[FailedCheckpoint]] = {}
        for event in History(store).events():
            if isinstance(event, CompletedCheckpoint):
                # The newest of an id counts: ids begin anew with --fresh.
                self._told.setdefault(event.checkpoint_id, event)
            elif isinstance(event, FailedCheckpoint):
                self._failed.setdefault(event.checkpoint_id, []).append(event)

    def newest(self) -> Known:
        """Return the newest completed checkpoint that is stored."""
        for checkpoint_id in reversed(self.ids):
            found = self.manifest(checkpoint_id)
            if found is not None:
                return Known(found, is_stored=True)
        raise NotReachableError(
            f"{self.store.address('')} holds no completed checkpoint",
            why=self._present(),
            fix="Run the job first",
        )

    def manifest(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a stored checkpoint with everything; None where retention has taken it away."""
        return CheckpointFiles(self.store).get(checkpoint_id)

    def known(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return a completed checkpoint, perhaps without what only its manifest has."""
        told = self._told.get(checkpoint_id)
        try:
            return self.manifest(checkpoint_id) or told
        except PreflightError:
            return told

    def told(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return what the history says of it, or else its manifest: enough for offsets and counts, and quick."""
        return self._told.get(checkpoint_id) or self.known(checkpoint_id)

    def require(self, checkpoint_id: int) -> Known:
        """Return a completed checkpoint, or refuse with what there is; a damaged manifest is refused by its name."""
        stored = self.manifest(checkpoint_id)
        found = stored or self._told.get(checkpoint_id)
        if found is None:
            failures = self._failed.get(checkpoint_id)
            why = f"it failed: {failures[0].reason.name} {failures[0].detail}; " if failures else ""
            raise NotReachableError(
                f"There is no completed checkpoint {checkpoint_id} in {self.store.address('')}",
                why=why + self._present(),
                fix="Name one of these; `milepost checkpoint list` shows them",
            )
        return Known(found, is_stored=stored is not None)

    def positions(self) -> list[int]:
        """Return the ids that are known of the job as it is now, oldest first; not those from before --fresh."""
        newest = self.ids[-1] if self.ids else max(self._told, default=-1)
        return sorted({*self.ids, *(number for number in self._told if number <= newest)})

    def details(self, checkpoint_id: int) -> Details:
        """Return everything that is known of a checkpoint."""
        known = self.require(checkpoint_id)
        following = self.told(checkpoint_id + 1)
        return Details(
            checkpoint=known.checkpoint,
            is_stored=known.is_stored,
            before=self.told(checkpoint_id - 1),
            next_triggered_at=None if following is None else following.triggered_at,
            failures=tuple(self._failed.get(checkpoint_id, ())),
            files=tuple(_files(self.store, checkpoint_id)),
        )

    def _present(self) -> str:
        stored = f"{self.ids[0]} to {self.ids[-1]} are stored" if self.ids else "none is stored"
        told = f", and the history goes back to {min(self._told)}" if self._told else ""
        return stored + told


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
    """Return per operator the bytes of the files that this checkpoint added to its state; others it shares."""
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
