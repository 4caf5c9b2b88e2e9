"""The manifests of a checkpoint directory: sealed in step 6, completed in step 8, recovered after a death between.

Spark's logs are the truth about what was committed; a manifest says what Spark does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.decide import beyond_retention
from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.manifest import from_json, to_json
from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError


class CheckpointFiles:
    """The stored checkpoints of one directory; used by the driver that holds its lease."""

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Read nothing yet."""
        self._store = store
        self._clock = clock
        self._kept: list[CheckpointId] | None = None
        """What retention has to count; listed once, since a folder may hold very many."""

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        """Make everything of a checkpoint durable before Spark commits its batch.

        A sealed checkpoint counts once Spark's commit log has it; a batch that runs again is sealed again.
        """
        self._store.replace(names.sealed_of(checkpoint.checkpoint_id), to_json(checkpoint))

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        """Store a checkpoint that Spark has committed. Repeating is safe; other content belongs to another driver."""
        checkpoint_id = checkpoint.checkpoint_id
        data = to_json(checkpoint)
        try:
            self._store.create(names.manifest_of(checkpoint_id), data)
        except FileExistsError:
            stored = self.get(checkpoint_id)
            # A checkpoint that was recovered after a death has the time of the recovery.
            if stored is None or replace(stored, completed_at=checkpoint.completed_at) != from_json(data):
                raise FencedError(
                    f"Checkpoint {checkpoint_id} is already stored with other content",
                    why=f"{self._store.address(names.manifest_of(checkpoint_id))} was not written by this driver",
                    fix="Find the other driver on this directory, and stop one of them",
                ) from None
        if self._kept is not None and checkpoint_id not in self._kept[-1:]:
            self._kept.append(checkpoint_id)
        self._store.delete(names.sealed_of(checkpoint_id))

    def ids(self) -> list[CheckpointId]:
        """Return the ids of the completed checkpoints, oldest first."""
        return self._ids(names.CHECKPOINTS)

    def get(self, checkpoint_id: int) -> CompletedCheckpoint | None:
        """Return one completed checkpoint, or None where it is not stored; a damaged one is refused."""
        return self._read(names.manifest_of(checkpoint_id))

    def newest(self) -> CompletedCheckpoint | None:
        """Return the newest completed checkpoint."""
        ids = self.ids()
        return self.get(ids[-1]) if ids else None

    def triggered_at(self) -> datetime | None:
        """Return when the newest completed checkpoint of ours began; one that only Spark knows has no time."""
        stored = (self.get(checkpoint_id) for checkpoint_id in reversed(self.ids()))
        return next((each.triggered_at for each in stored if each is not None and each.job_id), None)

    def retain(self, keep: int) -> list[CheckpointId]:
        """Remove the oldest ones beyond `keep`, and return which."""
        if self._kept is None:
            self._kept = self.ids()
        # Mostly none or one: the ids that stay are not sorted again for every checkpoint.
        removed = beyond_retention(self._kept, max(keep, 1)) if len(self._kept) > keep else []
        for checkpoint_id in removed:
            self._store.delete(names.manifest_of(checkpoint_id))
            self._kept.remove(checkpoint_id)
        return removed

    def drop_sealed_after(self, checkpoint_id: int) -> None:
        """Forget what was sealed and never committed: its batch is run again."""
        for sealed_id in self._ids(names.SEALED):
            if sealed_id > checkpoint_id:
                self._store.delete(names.sealed_of(sealed_id))

    def recover(
        self, newest_batch: CompletedBatch | None, committed: CompletedCheckpoint | None = None
    ) -> CompletedCheckpoint | None:
        """Bring the manifests to where Spark's logs are, and return the checkpoint that the job resumes from.

        A crash between steps 7 and 8 leaves a batch that Spark has committed and that has no manifest: the sealed file
        has its content. Without a sealed file there was no state, and Spark's log is sufficient. A process that
        continues after a failed step 8 still has the content: `committed`.
        """
        newest = -1 if newest_batch is None else newest_batch.batch_id
        self._kept = None
        self.drop_sealed_after(newest)
        for checkpoint_id in self.ids():
            if checkpoint_id > newest:
                self._store.delete(names.manifest_of(checkpoint_id))
        if newest_batch is None:
            return None
        stored = self.get(newest)
        if stored is None:
            sealed = self._read(names.sealed_of(newest))
            if sealed is None and committed is not None and committed.checkpoint_id == newest:
                sealed = committed
            # A sealed checkpoint has no boundary: Spark may log it later.
            stored = (
                self._from_log(newest_batch)
                if sealed is None
                else replace(sealed, sources=newest_batch.sources)
            )
            self.complete(stored)
        for sealed_id in self._ids(names.SEALED):
            self._store.delete(names.sealed_of(sealed_id))
        return stored

    def _from_log(self, batch: CompletedBatch) -> CompletedCheckpoint:
        """Return what is known of a batch that was not sealed; it had no late records, or it would have been."""
        now, before = self._clock(), self.newest()
        return CompletedCheckpoint(
            checkpoint_id=CheckpointId(batch.batch_id),
            trigger=Trigger.ENGINE,
            triggered_at=now,
            completed_at=now,
            job_id="",
            epoch=0,
            sources=batch.sources,
            late_total={} if before is None else before.late_total,
        )

    def _read(self, name: str) -> CompletedCheckpoint | None:
        try:
            data = self._store.read(name)
        except FileNotFoundError:
            return None
        return from_json(data, self._store.address(name))

    def _ids(self, folder: str) -> list[CheckpointId]:
        found = (name.removesuffix(".json") for name in self._store.names(folder) if name.endswith(".json"))
        return sorted(CheckpointId(int(name)) for name in found if name.isascii() and name.isdigit())
