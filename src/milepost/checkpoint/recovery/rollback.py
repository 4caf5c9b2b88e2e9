"""Rolls a checkpoint directory back to an older checkpoint that it still has.

Newer files are moved to `milepost/rolled-back/` under their own names; only the newest set is kept. The lease must be
held, and the directory marked as unfinished, from the first to the last step.
"""

from __future__ import annotations

from collections.abc import Iterator

from milepost.checkpoint.recovery import quarantine
from milepost.checkpoint.recovery.preflight import read_logs
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.spark_log import CompletedBatch, read_offsets
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError


def retained(store: Store, checkpoint_id: int) -> CompletedBatch:
    """Return a completed checkpoint that the directory still has intact, or refuse."""
    logs = read_logs(store)
    completed = logs.offsets & logs.commits
    before = checkpoint_id == 0 or checkpoint_id - 1 in logs.offsets
    if checkpoint_id not in completed or not before:
        # Spark needs the entry before the one that it resumes from.
        whole = sorted(each for each in completed if each == 0 or each - 1 in logs.offsets)
        has = f"has {whole[0]} to {whole[-1]}" if whole else "has none"
        raise NotReachableError(
            f"Checkpoint {checkpoint_id} is no longer in {store.address('')}, or was not completed",
            why=f"Spark keeps as many batches as checkpointing.retained; the directory {has}",
            fix="Choose a checkpoint that is still there (`milepost checkpoint list`), or a savepoint",
        )
    return CompletedBatch(checkpoint_id, read_offsets(store, checkpoint_id))


def roll_back(store: Store, checkpoint_id: int) -> None:
    """Set aside everything that is newer than a completed checkpoint."""
    quarantine.set_aside(store, _newer(store, checkpoint_id), names.ROLLED_BACK)
    # If the newest remaining checkpoint has no manifest, the next start writes it from Spark's log.
    CheckpointFiles(store).drop_sealed_after(checkpoint_id)


def clear_rolled_back(store: Store) -> None:
    """Remove what an earlier roll back has set aside; called before this one moves anything."""
    store.delete_folder(names.ROLLED_BACK)


def _newer(store: Store, checkpoint_id: int) -> Iterator[str]:
    """Yield what came after a checkpoint; the logs last, newest first, so they never have a hole."""
    yield from quarantine.newer_state(store, checkpoint_id)
    yield from quarantine.newer_manifests(store, names.CHECKPOINTS, checkpoint_id)
    for log in (names.COMMITS, names.OFFSETS):
        yield from quarantine.entries_outside(store, log, range(checkpoint_id + 1))
