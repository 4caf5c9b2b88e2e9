"""The ports of the coordinator: its gate, its ledger and its rules. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.schedule import CheckpointSchedule


class Gate(Protocol):
    """Holds the source at a boundary; see the engine's gate."""

    def open(self) -> None:
        """Let one round through, with or without new records."""


class Ledger(Protocol):
    """The coordinator's durable record, which is read again instead of trusting an event."""

    epoch: int

    def verify_lease(self) -> None:
        """Raise FencedError if another driver has taken over."""

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        """Store what must survive a crash between Spark's commit and ours."""

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        """Return the checkpoint with its boundary if Spark's commit log has it, else None."""

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        """Store a completed checkpoint; remove what it subsumes beyond the retained ones."""

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Write a failed checkpoint into the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The configuration of checkpoints, in seconds."""

    schedule: CheckpointSchedule
    timeout: float
    tolerable_failures: int = 0
    is_continuous: bool = False
    """Whether records flow continuously, so the end of any batch serves every earlier request."""
