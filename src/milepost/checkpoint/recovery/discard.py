"""Removes a job's progress: sets it aside for `run --fresh`, deletes it for `on-cancel: delete`. The history stays."""

from __future__ import annotations

from milepost.checkpoint.recovery import quarantine
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store

# The query's id goes first and the offsets last: a partial move is refused by a start, and completed by the next call.
_PROGRESS = (
    names.METADATA,
    f".{names.METADATA}.crc",
    names.SINK,
    names.SEALED,
    names.CHECKPOINTS,
    names.TOPICS,
    names.STATE,
    names.SOURCES,
    names.COMMITS,
    names.OFFSETS,
)
_WHOLE = "discarded.json"


def set_aside(store: Store) -> str | None:
    """Move a job's progress to `milepost/discarded/<n>` and return where; None if there is none.

    Only the newest set is kept. The lease must be held.
    """
    number = _move(store)
    if number is None:
        return None
    for older in quarantine.numbers(store, names.DISCARDED):
        if older < number:
            store.delete_folder(f"{names.DISCARDED}/{older}")
    return store.address(f"{names.DISCARDED}/{number}")


def delete_checkpoints(store: Store) -> None:
    """Remove a job's progress permanently. The lease must be held."""
    # Moved first: a half-deleted log looks like one that Spark has purged.
    number = _move(store)
    if number is not None:
        store.delete_folder(f"{names.DISCARDED}/{number}")


def remove(store: Store) -> None:
    """Remove the files of an unfinished restore, which are not a job's progress. The lease must be held."""
    for name in _PROGRESS:
        if store.is_file(name):
            store.delete(name)
        else:
            store.delete_folder(name)


def _move(store: Store) -> int | None:
    present = [name for name in _PROGRESS if store.exists(name)]
    number = max(quarantine.numbers(store, names.DISCARDED), default=0)
    folder = f"{names.DISCARDED}/{number}"
    # After a crash in the middle, the rest is moved to where the first part is.
    goes_on = store.exists(folder) and not any(store.exists(f"{folder}/{n}") for n in (_WHOLE, *present))
    if not present and not goes_on:
        return None
    number = number if goes_on else number + 1
    folder = f"{names.DISCARDED}/{number}"
    quarantine.set_aside(store, present, folder)
    store.create(f"{folder}/{_WHOLE}", b'{"format": 1}\n')
    return number
