"""Installs a savepoint into a checkpoint directory. Every file is verified before the first one is changed.

`milepost/restoring.json` is written first and removed last: no job starts on a directory that has it. A repeated
restore starts over; the earlier content of the directory is set aside only once.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import suppress

from milepost.checkpoint.failpoint import reach
from milepost.checkpoint.recovery import discard
from milepost.checkpoint.savepoint.copy import NO_LINKS, checksum, copy_file
from milepost.checkpoint.savepoint.manifest import METADATA, SavedFile, Savepoint
from milepost.checkpoint.savepoint.selection import KEPT_AS_THEY_ARE
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.relocate import has_paths, relocated
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import PreflightError

FORMAT = 1
# These belong to the new run and not to the saved one.
_OF_THE_RUN = (names.JOB, names.PLAN, names.VERSIONS)
_FOLDERS = tuple(
    f"{folder}/" for folder in (names.OFFSETS, names.COMMITS, names.SOURCES, names.STATE, names.CHECKPOINTS)
)
_OTHER_COPY = "Use another savepoint, or another copy of this one"


def verify(savepoint: Savepoint) -> Store:
    """Return the savepoint as a store, after each file was found to match the manifest."""
    store = Store.at(savepoint.path)
    for name, saved in savepoint.files.items():
        if fault := _fault(store, name, saved):
            raise PreflightError(
                f"{store.address(name)} is not the file of the savepoint", why=fault, fix=_OTHER_COPY
            )
    for name in (f"{names.OFFSETS}/{savepoint.checkpoint_id}", f"{names.COMMITS}/{savepoint.checkpoint_id}"):
        if name not in savepoint.files:
            raise PreflightError(f"The savepoint {savepoint.path} has no {name}", fix=_OTHER_COPY)
    return store


def install(savepoint: Savepoint, store: Store, location: str) -> None:
    """Replace the directory's progress by the files of a verified savepoint. The lease must be held.

    `location` is the directory as Spark knows it.
    """
    _begin_restore(store, savepoint)
    source = Store.at(savepoint.path)
    for name in sorted(savepoint.files.keys() - set(_OF_THE_RUN)):
        reach("1-restore-file")
        if not has_paths(name):
            _bring(source, name, store)
        elif (data := relocated(name, source.read(name), location)) is not None:
            store.replace(name, data)
    if isinstance(store, LocalStore):
        store.sync("")
    reach("1-restore-end")
    store.delete(names.RESTORING)


def set_progress_aside(store: Store) -> None:
    """Set a directory's progress aside for a fresh start; remove the files of an unfinished restore."""
    if _is_set_aside(store):
        discard.remove(store)
    else:
        discard.set_aside(store)
    store.delete(names.RESTORING)


def _begin_restore(store: Store, savepoint: Savepoint) -> None:
    if _is_set_aside(store):
        discard.remove(store)  # the files of an earlier attempt
        return
    reach("1-restore-begin")
    store.replace(names.RESTORING, _marker(savepoint, is_set_aside=False))
    discard.set_aside(store)
    reach("1-restore-set-aside")
    store.replace(names.RESTORING, _marker(savepoint, is_set_aside=True))


def _marker(savepoint: Savepoint, *, is_set_aside: bool) -> bytes:
    marker = {
        "format": FORMAT,
        "savepoint": savepoint.path,
        "checkpoint": savepoint.checkpoint_id,
        "set-aside": is_set_aside,
    }
    return json.dumps(marker).encode() + b"\n"


def _is_set_aside(store: Store) -> bool:
    with suppress(FileNotFoundError, ValueError, AttributeError):
        return json.loads(store.read(names.RESTORING)).get("set-aside") is True
    return False


def _fault(store: Store, name: str, saved: SavedFile) -> str | None:
    try:
        if not _is_of_a_checkpoint(name):
            return "it is not a file of a checkpoint, and would be put among those of the job"
        if isinstance(store, LocalStore) and _leads_out(store, name):
            return "it is a link to somewhere else"
        if not store.is_file(name):
            return "it is missing"
        if (size := store.size(name)) != saved.size:
            return f"it has {size:,} bytes, and {METADATA} says {saved.size:,}"
        return None if checksum(store, name) == saved else f"its checksum is not the one in {METADATA}"
    except OSError as error:
        return str(error)


def _is_of_a_checkpoint(name: str) -> bool:
    return name == names.METADATA or name in KEPT_AS_THEY_ARE or name.startswith(_FOLDERS)


def _leads_out(store: LocalStore, name: str) -> bool:
    return any(store.path(part).is_symlink() for part in _parts(name))


def _parts(name: str) -> Iterator[str]:
    parts = name.split("/")
    yield from ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _bring(source: Store, name: str, store: Store) -> None:
    """Link the file, or copy it; neither the job nor Spark changes a file in place."""
    if isinstance(source, LocalStore) and isinstance(store, LocalStore):
        try:
            source.link(name, store, name)
            return
        except OSError as error:
            if error.errno not in (*NO_LINKS, errno.EEXIST):
                raise
            with suppress(FileNotFoundError):
                os.unlink(store.path(name))
    copy_file(source, name, store, name)
