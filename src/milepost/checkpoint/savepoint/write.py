"""Writes a savepoint in two phases: `pin` is short and part of step 8, `finish` runs in parallel to the stream.

Pinned files cannot be removed: on a local file system every file gets a hard link. Spark and Milepost never change a
file of a checkpoint in place, so a link is as good as a copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from milepost.checkpoint.failpoint import reach
from milepost.checkpoint.savepoint.copy import NO_LINKS, checksum_durably, copy_file
from milepost.checkpoint.savepoint.manifest import (
    IN_PROGRESS,
    METADATA,
    SavedFile,
    Savepoint,
    owned,
    to_json,
)
from milepost.checkpoint.savepoint.selection import KEPT_AS_THEY_ARE, IncompleteState, belonging
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import SavepointError

_UNFINISHED = ".inprogress"
# Spark may remove old files between the listing and the links; a new listing then finds newer ones.
_LOOKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A savepoint between its phases."""

    savepoint: Savepoint
    """Complete except for its files."""
    target: Store
    """The directory of savepoints."""
    folder: str
    """The folder in `target` where the savepoint is written."""
    source: Store
    held: str
    """Where in `source` the files are held; empty if they are not linked but copied from their original names."""
    wanted: Sequence[str]
    kept: Mapping[str, bytes]
    """The content of the files that change while the job runs."""

    @property
    def is_linked(self) -> bool:
        """Return whether the files are already in the savepoint."""
        return self.source is self.target


def pin(source: Store, target: Store, savepoint: Savepoint) -> Draft:
    """Phase one: hold every file of a checkpoint that has just completed."""
    folder = unfinished(target, savepoint.name)
    target.create(f"{folder}/{IN_PROGRESS}", owned(source.address(""), savepoint.job_id))
    draft = Draft(
        savepoint=savepoint, target=target, folder=folder, source=source, held="", wanted=(), kept={}
    )
    try:
        for place, held in _places(source, target, folder, savepoint.name):
            try:
                wanted = _hold(source, savepoint.checkpoint_id, place, held)
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                continue
            return replace(draft, source=place, held=held, wanted=wanted, kept=kept(source))
        return replace(draft, wanted=_select(source, savepoint.checkpoint_id), kept=kept(source))
    except BaseException:
        with suppress(Exception):
            drop(draft)
        raise


def finish(draft: Draft) -> Savepoint:
    """Phase two: compute checksums, make files durable, and write the manifest last, which makes it a savepoint."""
    target, folder = draft.target, draft.folder
    files: dict[str, SavedFile] = {}
    for name in draft.wanted:
        reach("9-savepoint-file")
        files[name] = _saved(draft, name)
    for name, data in draft.kept.items():
        reach("9-savepoint-file")
        target.replace(f"{folder}/{name}", data)
        files[name] = SavedFile(len(data), hashlib.sha256(data).hexdigest())
    if isinstance(target, LocalStore):
        target.sync(folder)
    reach("9-savepoint-metadata")
    target.create(f"{folder}/{METADATA}", to_json(replace(draft.savepoint, files=files)))
    if folder != draft.savepoint.name:
        reach("9-savepoint-name")
        target.move(folder, draft.savepoint.name)
    reach("9-savepoint-end")
    target.delete(f"{draft.savepoint.name}/{IN_PROGRESS}")
    _release(draft)
    return replace(draft.savepoint, files=files)


def drop(draft: Draft) -> None:
    """Release the pinned files, and remove what was written of an abandoned savepoint."""
    # Without its manifest it is not a savepoint, even if other files remain.
    draft.target.delete(f"{draft.folder}/{METADATA}")
    draft.target.delete_folder(draft.folder)
    draft.source.delete_folder(f"{names.PINNED}/{draft.savepoint.name}")


def sweep(source: Store, target: Store) -> list[str]:
    """Remove and return the unfinished savepoints of this checkpoint directory. The lease must be held."""
    source.delete_folder(names.PINNED)
    swept = []
    for folder in _unfinished_of(target, source.address("")):
        if not folder.startswith(".") and target.exists(f"{folder}/{METADATA}"):
            target.delete(f"{folder}/{IN_PROGRESS}")  # it was complete except for this
            continue
        target.delete(f"{folder}/{METADATA}")
        target.delete_folder(folder)
        swept.append(folder)
    return swept


def unfinished(target: Store, name: str) -> str:
    """Return the folder in which a savepoint is made; an object store cannot rename a folder atomically."""
    return f".{name}{_UNFINISHED}" if isinstance(target, LocalStore) else name


def kept(source: Store) -> dict[str, bytes]:
    """Return the content of the small files that change while a job runs."""
    found = {}
    for name in KEPT_AS_THEY_ARE:
        with suppress(FileNotFoundError):
            found[name] = source.read(name)
    return found


def _places(source: Store, target: Store, folder: str, name: str) -> Iterator[tuple[LocalStore, str]]:
    """Yield where files may be held by links: in the savepoint itself, or else beside the checkpoint."""
    if isinstance(source, LocalStore):
        if isinstance(target, LocalStore):
            yield target, folder
        yield source, f"{names.PINNED}/{name}"


def _hold(source: Store, checkpoint_id: int, place: LocalStore, held: str) -> list[str]:
    assert isinstance(source, LocalStore)  # `_places` has none for others

    def look(wanted: list[str]) -> list[str]:
        for name in wanted:
            reach("8-savepoint-pin")
            with suppress(FileExistsError):
                source.link(name, place, f"{held}/{name}")
        return wanted

    return _again(lambda: look(_select(source, checkpoint_id)))


def _again(look: Callable[[], list[str]]) -> list[str]:
    for _ in range(_LOOKS - 1):
        with suppress(FileNotFoundError, IncompleteState):
            return look()
    try:
        return look()
    except (FileNotFoundError, IncompleteState) as error:
        raise SavepointError(
            "A file of the checkpoint was removed before the savepoint could pin it",
            why=str(error),
            fix="Try again, and raise checkpointing.retained if it happens again",
        ) from error


def _select(source: Store, checkpoint_id: int) -> list[str]:
    present = [names.METADATA, f".{names.METADATA}.crc", names.manifest_of(checkpoint_id)]
    for folder in (names.OFFSETS, names.COMMITS, names.SOURCES, names.STATE):
        present += source.walk(folder)
    return [name for name in belonging(checkpoint_id, present, source.read) if source.is_file(name)]


def _saved(draft: Draft, name: str) -> SavedFile:
    held, to = f"{draft.held}/{name}".lstrip("/"), f"{draft.folder}/{name}"
    if draft.is_linked and isinstance(draft.target, LocalStore):
        return checksum_durably(draft.target, to)
    try:
        return copy_file(draft.source, held, draft.target, to)
    except FileNotFoundError as error:
        raise SavepointError(
            f"{name} was removed before it could be copied into the savepoint",
            why="Spark keeps only the files of the retained checkpoints, and removed these before they were copied",
            fix="Raise checkpointing.retained",
        ) from error


def _release(draft: Draft) -> None:
    if draft.held.startswith(names.PINNED):
        draft.source.delete_folder(draft.held)


def _unfinished_of(target: Store, directory: str) -> Iterator[str]:
    for entry in target.entries(""):
        if not entry.is_folder or not target.is_file(f"{entry.name}/{IN_PROGRESS}"):
            continue
        with suppress(ValueError, KeyError, TypeError, FileNotFoundError):
            if json.loads(target.read(f"{entry.name}/{IN_PROGRESS}"))["directory"] == directory:
                yield entry.name
