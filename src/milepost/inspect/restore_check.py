"""The dry run of a restore, as far as files and the broker can tell: what fits, what is replayed, about how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.savepoint.check import Difference, differences
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import verified
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.inspect.offsets import PartitionOffsets, compare, of_checkpoint
from milepost.inspect.retention import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What a restore would find."""

    savepoint: Savepoint
    checkpoint: CompletedCheckpoint
    partitions: Sequence[PartitionOffsets]
    differences: Sequence[Difference]
    unasked: str = ""
    """Why the broker was not asked: how its partitions stand is then not known."""

    @property
    def replayed(self) -> int:
        """Return how many offsets would be read until the end of the log."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def seconds(self) -> float | None:
        """Return about how long that takes at the pace of the savepoint's checkpoint; None where it had no rows."""
        rows, milliseconds = self.checkpoint.rows, self.checkpoint.duration_ms
        return self.replayed * milliseconds / rows / 1000 if rows and milliseconds else None

    @property
    def unrestorable(self) -> list[str]:
        """Return the partitions that cannot go on from the savepoint, each with the reason."""
        return [
            f"{each.topic}-{each.partition}: {each.verdict.note or 'its next records are gone'}"
            for each in self.partitions
            if each.verdict.standing is Standing.UNRESTORABLE
        ]


def rehearse(config: Config, savepoint: Savepoint, *, timeout: float, now_ms: int) -> Rehearsal:
    """Look at every file of a savepoint, at the job and at the broker; refuse a savepoint that is not whole."""
    stored = _stored(savepoint)
    return Rehearsal(
        savepoint=savepoint,
        checkpoint=stored,
        partitions=compare(config, stored, timeout=timeout, now_ms=now_ms),
        differences=differences(savepoint, config.name, outline(config)),
    )


def rehearse_alone(config: Config, savepoint: Savepoint, unasked: str) -> Rehearsal:
    """Look at the files and at the job, where nobody can ask the broker."""
    stored = _stored(savepoint)
    return Rehearsal(
        savepoint=savepoint,
        checkpoint=stored,
        partitions=of_checkpoint(stored),
        differences=differences(savepoint, config.name, outline(config)),
        unasked=unasked,
    )


def _stored(savepoint: Savepoint) -> CompletedCheckpoint:
    stored = CheckpointFiles(verified(savepoint)).get(savepoint.checkpoint_id)
    if stored is None:
        raise PreflightError(
            f"The savepoint {savepoint.path} does not say where its checkpoint stood",
            why="it has no manifest of the checkpoint",
            fix="Use another savepoint",
        )
    return stored
