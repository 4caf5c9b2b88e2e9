"""Sets files of a checkpoint directory aside under their own names, and finds those that are newer than a checkpoint.

Callers move the logs last and newest first, so that a log has no hole at any time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import is_entry
from milepost.checkpoint.store.store import Store

STATE_FILE = re.compile(r"\.?([0-9]{1,18})[._]")
"""Of a state store: `5.delta`, `5.changelog`, `5.zip`, `5_<uuid>.zip`; version 5 is the state after batch 4."""


def set_aside(store: Store, moved: Iterable[str], folder: str) -> None:
    """Move files or folders to a folder, one after the other. The names are complete before the first move."""
    for name in [*moved]:
        store.move(name, f"{folder}/{name}")


def numbers(store: Store, folder: str) -> list[int]:
    """Return the numbers of the sets that a folder holds."""
    return [int(entry.name) for entry in store.entries(folder) if is_entry(entry.name)]


def newer_state(store: Store, checkpoint_id: int) -> Iterator[str]:
    """Yield the state files that were written after a checkpoint."""
    for name in store.walk(names.STATE):
        match = STATE_FILE.match(name.rpartition("/")[2])
        if match and int(match[1]) > checkpoint_id + 1:
            yield name


def newer_manifests(
    store: Store, folder: str, checkpoint_id: int, damaged: Collection[str] = ()
) -> Iterator[str]:
    """Yield the manifests in a folder that are newer than a checkpoint or damaged."""
    for name in store.names(folder):
        number = name.removesuffix(".json")
        if is_entry(number) and (int(number) > checkpoint_id or f"{folder}/{name}" in damaged):
            yield f"{folder}/{name}"


def entries_outside(store: Store, log: str, kept: range) -> Iterator[str]:
    """Yield the entries of a log that are not kept, newest first, each with its checksum."""
    present = {entry.name for entry in store.entries(log)}
    for batch_id in sorted((int(name) for name in present if is_entry(name)), reverse=True):
        if batch_id not in kept:
            yield from (f"{log}/{name}" for name in (f"{batch_id}", f".{batch_id}.crc") if name in present)
