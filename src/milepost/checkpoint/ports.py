"""What the coordinator works with, and is given: a gate, a ledger, listeners, rules. No behaviour of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.schedule import Pace


class Gate(Protocol):
    """What holds the source; see the engine's gate."""

    def open(self) -> None:
        """Let one round through, with or without new records."""


class Ledger(Protocol):
    """What the coordinator keeps on disk, and reads again instead of trusting an event."""

    epoch: int

    def verify_lease(self) -> None:
        """Raise FencedError where another driver has taken over."""

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        """Keep what a death between Spark's commit and ours must not lose."""

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        """Return the checkpoint with its boundary if Spark's commit log has it, else None."""

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        """Store a completed checkpoint; remove what it subsumes beyond the retained ones."""

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Write a failed checkpoint into the history."""


class CompletionListener(Protocol):
    """Who hears of completed checkpoints beside the participants: the committer of group offsets."""

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """Take note; called once per id, in order. Must neither wait nor raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the configuration says about checkpoints, in seconds."""

    pace: Pace
    timeout: float
    tolerable_failures: int = 0
    is_continuous: bool = False
    """Whether records flow all the time, so that the end of any batch is a boundary after every request."""
