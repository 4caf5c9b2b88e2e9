"""Exports a completed checkpoint for plain Spark, as a directory with only Spark's own files.

The job may be running: only files of completed checkpoints are copied.
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


def export_checkpoint(source: Store, store: Store) -> int:
    """Copy the newest completed checkpoint into a new directory, atomically, and return its id."""
    require_finished(source)
    if store.exists(""):
        raise PreflightError(
            f"{store.address('')} already exists",
            why="a checkpoint is exported into a new directory",
            fix="Specify a directory that does not exist",
        )
    for _ in range(_TRIES):
        exported = _try_export(source, store)
        if exported is not None:
            return exported
    raise NotReachableError(
        f"The checkpoints in {source.address('')} are removed faster than they can be copied",
        why="the job is running, and Spark removes checkpoints beyond checkpointing.retained",
        fix="Raise checkpointing.retained, or export a savepoint instead of the job",
    )


def _try_export(source: Store, store: Store) -> int | None:
    """Copy the checkpoint; return None if the job removed one of its files during the copy."""
    newest = newest_completed(source)
    if newest is None:
        raise NotReachableError(
            f"{source.address('')} has no completed checkpoint", fix="Run the job until one has completed"
        )
    work, location = _work_store(store), location_of(store)
    work.delete_folder("")
    try:
        for name in spark_files(source):
            data = relocated(name, source.read(name), location) if belongs_to(name, newest.batch_id) else None
            if data is not None:
                work.replace(name, data)
    except FileNotFoundError:
        work.delete_folder("")
        return None
    if isinstance(store, LocalStore) and isinstance(work, LocalStore):
        work.root.rename(store.root)
    return newest.batch_id


def belongs_to(name: str, checkpoint_id: int) -> bool:
    """Return whether one of Spark's files belongs to a checkpoint or to an earlier one."""
    folder, _, own = name.rpartition("/")
    if folder in (names.OFFSETS, names.COMMITS):
        number = own.removeprefix(".").removesuffix(".crc")
        return is_entry(number) and int(number) <= checkpoint_id
    if folder.startswith(f"{names.STATE}/"):
        match = STATE_FILE.match(own)
        return match is None or int(match[1]) <= checkpoint_id + 1
    return True


def _work_store(store: Store) -> Store:
    """Return the store of the unfinished copy.

    Only a local directory can be renamed. Elsewhere the query's id, which is written last, marks a complete copy.
    """
    if not isinstance(store, LocalStore):
        return store
    return LocalStore(store.root.with_name(f".{store.root.name}.inprogress"))
