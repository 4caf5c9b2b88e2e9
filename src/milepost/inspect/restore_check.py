"""The dry run of a restore: checks the files and the broker, and estimates the replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.savepoint.check import Difference, differences
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import verify
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.inspect.offsets import PartitionOffsets, compare, of_checkpoint
from milepost.inspect.retention import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCheck:
    """The result of a dry run of a restore."""

    savepoint: Savepoint
    checkpoint: CompletedCheckpoint
    partitions: Sequence[PartitionOffsets]
    differences: Sequence[Difference]
    unasked: str | None = None
    """Why the broker was not queried; None if it was."""

    @property
    def replayed(self) -> int:
        """The number of offsets to read until the end of the log."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def seconds(self) -> float | None:
        """The estimated time at the rate of the checkpoint of the savepoint; None if it had no rows."""
        rows, milliseconds = self.checkpoint.rows, self.checkpoint.duration_ms
        return self.replayed * milliseconds / rows / 1000 if rows and milliseconds else None

    @property
    def unrestorable(self) -> list[str]:
        """The partitions that cannot be resumed from the savepoint, each with the reason."""
        return [
            f"{each.topic}-{each.partition}: {each.verdict.note or 'its next records were deleted'}"
            for each in self.partitions
            if each.verdict.standing is Standing.UNRESTORABLE
        ]


def check_restore(config: Config, savepoint: Savepoint, *, timeout: float, now_ms: int) -> RestoreCheck:
    """Check every file of a savepoint, the job and the broker; refuse an incomplete savepoint."""
    stored = _stored(savepoint)
    return RestoreCheck(
        savepoint=savepoint,
        checkpoint=stored,
        partitions=compare(config, stored, timeout=timeout, now_ms=now_ms),
        differences=differences(savepoint, config.name, outline(config)),
    )


def check_restore_offline(config: Config, savepoint: Savepoint, unasked: str) -> RestoreCheck:
    """Check the files and the job only, if the broker cannot be queried."""
    stored = _stored(savepoint)
    return RestoreCheck(
        savepoint=savepoint,
        checkpoint=stored,
        partitions=of_checkpoint(stored),
        differences=differences(savepoint, config.name, outline(config)),
        unasked=unasked,
    )


def _stored(savepoint: Savepoint) -> CompletedCheckpoint:
    stored = CheckpointFiles(verify(savepoint)).get(savepoint.checkpoint_id)
    if stored is None:
        raise PreflightError(
            f"The savepoint {savepoint.path} does not contain the offsets of its checkpoint",
            why="the manifest of the checkpoint is missing",
            fix="Use another savepoint",
        )
    return stored
