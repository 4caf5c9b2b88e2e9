"""Resumes a damaged checkpoint directory from its newest complete checkpoint: sets aside what is damaged and newer.

Nothing is removed: the files are moved to `milepost/damaged/<n>/` under their own names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from milepost.checkpoint.recovery import quarantine
from milepost.checkpoint.recovery.damage import Damage, resumable
from milepost.checkpoint.recovery.preflight import find_damage, read_logs, refusal
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FallBack:
    """What was done about a damaged directory."""

    checkpoint_id: int
    """The checkpoint that the job resumes from."""
    damage: tuple[Damage, ...]
    folder: str
    """Where the damaged files are now."""


def fall_back(store: Store, *, job_name: str) -> FallBack | None:
    """Set aside what is damaged, and return what was done; None if nothing is damaged.

    A directory without a complete checkpoint is refused unchanged. The lease must be held.
    """
    damage = find_damage(store, job_name=job_name)
    if not damage:
        return None
    checkpoint_id = resumable(read_logs(store), damage)
    if checkpoint_id is None:
        raise refusal(store, damage)
    folder = f"{names.DAMAGED}/{max(quarantine.numbers(store, names.DAMAGED), default=0) + 1}"
    store.create(f"{folder}/damage.json", _reasons(checkpoint_id, damage))
    quarantine.set_aside(store, _unusable(store, checkpoint_id, damage), folder)
    return FallBack(checkpoint_id=checkpoint_id, damage=tuple(damage), folder=store.address(folder))


def _unusable(store: Store, checkpoint_id: int, damage: Collection[Damage]) -> Iterator[str]:
    """Yield what is damaged or too new.

    The logs go last, newest first: after a crash, the rest is found damaged again or resumes from the same checkpoint.
    """
    damaged = {found.name for found in damage}
    # A batch that was started and is intact runs again with the same offsets.
    is_newer_whole = all(found.batch_id is None or found.batch_id <= checkpoint_id for found in damage)
    newest = sys.maxsize - 1 if is_newer_whole else checkpoint_id
    yield from quarantine.newer_state(store, newest)
    for folder in (names.SEALED, names.CHECKPOINTS):
        yield from quarantine.newer_manifests(store, folder, newest, damaged)
    for log in (names.COMMITS, names.OFFSETS):
        older = [d.batch_id for d in damage if d.batch_id is not None and d.name.startswith(f"{log}/")]
        # Where an old entry is damaged, those before it go too: a log has no hole.
        oldest = max((batch_id for batch_id in older if batch_id < checkpoint_id), default=-1)
        yield from quarantine.entries_outside(store, log, range(oldest + 1, newest + 1))


def _reasons(checkpoint_id: int, damage: Collection[Damage]) -> bytes:
    found = [{"name": d.name, "what": d.what, "why": d.why} for d in damage]
    document = {"format": FORMAT, "resumed-from": checkpoint_id, "damage": found}
    return json.dumps(document, indent=2).encode() + b"\n"
