"""Lists, loads and disposes of the savepoints in a directory."""

from __future__ import annotations

from milepost.checkpoint.savepoint.manifest import IN_PROGRESS, METADATA, Savepoint, from_json, owned
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import NotReachableError, PreflightError

# Of a million files; whatever is larger was not written by us.
_LARGEST = 256 * 1024 * 1024


def load_all(directory: str) -> list[Savepoint]:
    """Return the savepoints of a directory, newest first; one with a damaged manifest is skipped."""
    store = Store.at(directory)
    found = []
    for entry in store.entries(""):
        if not entry.is_folder or entry.name.startswith("."):
            continue  # a savepoint may have been renamed
        try:
            found.append(
                from_json(_read(store, f"{entry.name}/{METADATA}"), store.address(entry.name).rstrip("/"))
            )
        except (FileNotFoundError, PreflightError):
            continue
    return sorted(found, key=lambda savepoint: (savepoint.taken_at, savepoint.name), reverse=True)


def load(path: str) -> Savepoint:
    """Return the savepoint at a path; NotReachableError if there is none."""
    store = Store.at(path)
    try:
        return from_json(_read(store, METADATA), store.address("").rstrip("/"))
    except FileNotFoundError as error:
        raise NotReachableError(
            f"There is no savepoint at {store.address('').rstrip('/')}",
            why=f"it has no {METADATA}, which is written last: it is not a savepoint, or was never finished",
            fix="`milepost savepoint list DIR` shows the savepoints of a directory",
        ) from error


def dispose(path: str) -> Savepoint:
    """Remove a savepoint, and return it."""
    savepoint = load(path)
    store = Store.at(path)
    # After a crash in between, the next job on its checkpoint directory removes the rest.
    store.replace(IN_PROGRESS, owned(savepoint.directory, savepoint.job_id))
    store.delete(METADATA)
    store.delete_folder("")
    return savepoint


def _read(store: Store, name: str) -> bytes:
    """Return a manifest. Only a regular file of this folder is opened: reading others may never end."""
    if isinstance(store, LocalStore) and store.path(name).is_symlink():
        raise PreflightError(
            f"{store.address(name)} is a link and not the manifest of a savepoint",
            fix="Use another savepoint",
        )
    if not store.is_file(name):
        raise FileNotFoundError(store.address(name))
    if store.size(name) > _LARGEST:
        raise PreflightError(
            f"{store.address(name)} is too large to be the manifest of a savepoint",
            fix="Use another savepoint",
        )
    return store.read(name)
