"""The coordinator's ledger on disk: manifests, history and the lease of one checkpoint directory."""

from __future__ import annotations

from dataclasses import replace

from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.store import spark_log
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions


class FileLedger:
    """What the coordinator keeps on disk; used by the driver that holds the lease."""

    def __init__(self, store: Store, lease: Lease, *, retained: int) -> None:
        """Keep that many completed checkpoints."""
        self.history = History(store)
        self.files = CheckpointFiles(store)
        self.epoch = lease.epoch
        self._store = store
        self._lease = lease
        self._retained = retained
        self._committed: CompletedCheckpoint | None = None
        """What Spark has committed last, with all that its manifest needs."""
        self.recovered: CompletedCheckpoint | None = None
        """What the last `recover` has completed, in place of the attempt that could not."""

    def recover(self) -> CompletedCheckpoint | None:
        """Bring the manifests to where Spark's logs are, and return the checkpoint that a start resumes from."""
        known = set(self.files.ids())
        restored = self.files.recover(spark_log.newest_completed(self._store), self._committed)
        is_new = restored is not None and restored.checkpoint_id not in known
        self.recovered = restored if is_new else None
        if self.recovered is not None:
            self.history.append(self.recovered)
        return restored

    def verify_lease(self) -> None:
        """Raise FencedError where another driver has taken over."""
        self._lease.verify()

    def keep_versions(self, topics: str) -> None:
        """Make the eras of versions durable that the engine has begun, before anything is written with them."""
        self._lease.verify()
        versions.record_topics(self._store, topics)

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        """Make a checkpoint durable before Spark commits its batch."""
        self.files.seal(checkpoint)

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        """Return the checkpoint with its boundary if Spark's commit log has it, else None."""
        if not spark_log.is_committed(self._store, checkpoint.checkpoint_id):
            return None
        sources = spark_log.read_offsets(self._store, checkpoint.checkpoint_id)
        self._committed = replace(checkpoint, sources=sources)
        return self._committed

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        """Store a completed checkpoint, and let the ones beyond the retained go."""
        self.files.complete(checkpoint)
        self.files.retain(self._retained)
        self.history.append(checkpoint)

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Write a failed checkpoint into the history."""
        self.history.append(checkpoint)
