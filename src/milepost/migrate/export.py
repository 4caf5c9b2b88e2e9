"""Gives a checkpoint back to plain Spark: a directory with Spark's own files alone, at a completed checkpoint.

The job may be running: only what belongs to a checkpoint that is done is taken.
"""

from __future__ import annotations

from milepost.checkpoint.recovery.marker import require_finished
from milepost.checkpoint.recovery.quarantine import STATE_FILE
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.relocate import location_of, relocated
from milepost.checkpoint.store.spark_log import is_entry, newest_completed
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import NotReachableError, PreflightError
from milepost.migrate.adopt_files import spark_files

_TRIES = 5


def give(source: Store, store: Store) -> int:
    """Write the newest completed checkpoint into a new directory, whole or not at all, and return its id."""
    require_finished(source)
    if store.exists(""):
        raise PreflightError(
            f"{store.address('')} is already there",
            why="a checkpoint is given into a directory of its own, whole or not at all",
            fix="Name a directory that does not exist",
        )
    for _ in range(_TRIES):
        given = _given(source, store)
        if given is not None:
            return given
    raise NotReachableError(
        f"The checkpoints in {source.address('')} go away faster than they can be copied",
        why="the job runs, and Spark removes what is older than checkpointing.retained",
        fix="Raise checkpointing.retained, or give a savepoint instead of the job",
    )


def _given(source: Store, store: Store) -> int | None:
    """Write it once; None where the job has removed a file of it meanwhile."""
    newest = newest_completed(source)
    if newest is None:
        raise NotReachableError(
            f"{source.address('')} has no completed checkpoint", fix="Run the job until it has one"
        )
    work, location = _beside(store), location_of(store)
    work.delete_folder("")
    try:
        for name in spark_files(source):
            data = relocated(name, source.read(name), location) if belongs(name, newest.batch_id) else None
            if data is not None:
                work.replace(name, data)
    except FileNotFoundError:
        work.delete_folder("")
        return None
    if isinstance(store, LocalStore) and isinstance(work, LocalStore):
        work.root.rename(store.root)
    return newest.batch_id


def belongs(name: str, checkpoint_id: int) -> bool:
    """Return whether one of Spark's files belongs to a checkpoint, or to one before it."""
    folder, _, own = name.rpartition("/")
    if folder in (names.OFFSETS, names.COMMITS):
        number = own.removeprefix(".").removesuffix(".crc")
        return is_entry(number) and int(number) <= checkpoint_id
    if folder.startswith(f"{names.STATE}/"):
        match = STATE_FILE.match(own)
        return match is None or int(match[1]) <= checkpoint_id + 1
    return True


def _beside(store: Store) -> Store:
    """Return where the files lie until they are whole; elsewhere than on a local disk the query's id, last, says it."""
    if not isinstance(store, LocalStore):
        return store
    return LocalStore(store.root.with_name(f".{store.root.name}.inprogress"))
