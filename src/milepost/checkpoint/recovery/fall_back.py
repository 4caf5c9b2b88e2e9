"""Resumes a damaged checkpoint directory from its newest complete checkpoint: sets aside what is damaged and newer.

Nothing is removed: what is set aside lies under `milepost/damaged/<n>/` by its own names.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from milepost.checkpoint.recovery.damage import Damage, resumable
from milepost.checkpoint.recovery.preflight import find_damage, read_logs, refusal
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import is_entry
from milepost.checkpoint.store.store import Store

FORMAT = 1
STATE_FILE = re.compile(r"\.?([0-9]{1,18})[._]")
"""Of a state store: `5.delta`, `5.changelog`, `5.zip`, `5_<uuid>.zip`; version 5 is the state after batch 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FallBack:
    """What was done about a damaged directory."""

    checkpoint_id: int
    """The checkpoint that the job resumes from."""
    damage: tuple[Damage, ...]
    folder: str
    """Where the damaged files are now."""


def fall_back(store: Store, *, job_name: str) -> FallBack | None:
    """Set aside what is damaged, and return what was done; None where nothing is damaged.

    A directory in which no checkpoint is complete is refused as it is. The lease must be held.
    """
    damage = find_damage(store, job_name=job_name)
    if not damage:
        return None
    checkpoint_id = resumable(read_logs(store), damage)
    if checkpoint_id is None:
        raise refusal(store, damage)
    folder = f"{names.DAMAGED}/{_next_number(store)}"
    store.create(f"{folder}/damage.json", _reasons(checkpoint_id, damage))
    for name in [*_set_aside(store, checkpoint_id, damage)]:
        store.move(name, f"{folder}/{name}")
    return FallBack(checkpoint_id=checkpoint_id, damage=tuple(damage), folder=store.address(folder))


def _set_aside(store: Store, checkpoint_id: int, damage: Collection[Damage]) -> Iterator[str]:
    """Yield what is damaged or too new.

    The logs go last, newest first: whatever a death leaves is found damaged again or resumes from the same place.
    """
    damaged = {found.name for found in damage}
    # A batch that was begun and is whole is run again as it was begun.
    is_newer_whole = all(found.batch_id is None or found.batch_id <= checkpoint_id for found in damage)
    newest = sys.maxsize - 1 if is_newer_whole else checkpoint_id
    for name in store.walk(names.STATE):
        match = STATE_FILE.match(name.rpartition("/")[2])
        if match and int(match[1]) > newest + 1:
            yield name
    for folder in (names.SEALED, names.CHECKPOINTS):
        for name in store.names(folder):
            number = name.removesuffix(".json")
            if is_entry(number) and (int(number) > newest or f"{folder}/{name}" in damaged):
                yield f"{folder}/{name}"
    for log in (names.COMMITS, names.OFFSETS):
        older = [d.batch_id for d in damage if d.batch_id is not None and d.name.startswith(f"{log}/")]
        # Where an old entry is damaged, those before it go too: a log has no hole.
        oldest = max((batch_id for batch_id in older if batch_id < checkpoint_id), default=-1)
        yield from entries_outside(store, log, range(oldest + 1, newest + 1))


def entries_outside(store: Store, log: str, kept: range) -> Iterator[str]:
    """Yield the entries of a log that are not kept, newest first, each with its checksum."""
    present = {entry.name for entry in store.entries(log)}
    for batch_id in sorted((int(name) for name in present if is_entry(name)), reverse=True):
        if batch_id not in kept:
            yield from (f"{log}/{name}" for name in (f"{batch_id}", f".{batch_id}.crc") if name in present)


def _reasons(checkpoint_id: int, damage: Collection[Damage]) -> bytes:
    found = [{"name": d.name, "what": d.what, "why": d.why} for d in damage]
    document = {"format": FORMAT, "resumed-from": checkpoint_id, "damage": found}
    return json.dumps(document, indent=2).encode() + b"\n"


def _next_number(store: Store) -> int:
    numbers = (int(entry.name) for entry in store.entries(names.DAMAGED) if is_entry(entry.name))
    return max(numbers, default=0) + 1
