"""Lets observers see how checkpoints end, without a part in it: logs, spans."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint
from milepost.checkpoint.ports import Ledger

log = logging.getLogger(__name__)


class Observer(Protocol):
    """Who is told what has become of checkpoints and attempts. Must not wait; what it raises is passed over."""

    def initialized(self, began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> None:
        """An attempt runs, from that checkpoint on."""

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """A checkpoint is stored."""

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """A checkpoint was aborted."""


class ObservedLedger:
    """A ledger whose entries are also told to observers, once they are written."""

    def __init__(self, ledger: Ledger, observers: Sequence[Observer]) -> None:
        """Write to `ledger`."""
        self.epoch = ledger.epoch
        self._ledger = ledger
        self._observers = tuple(observers)

    def verify_lease(self) -> None:
        """Raise FencedError where another driver has taken over."""
        self._ledger.verify_lease()

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        """Keep what a death between Spark's commit and ours must not lose."""
        self._ledger.seal(checkpoint)

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        """Return the checkpoint with its boundary if Spark's commit log has it, else None."""
        return self._ledger.committed(checkpoint)

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        """Store a completed checkpoint, and tell of it."""
        self._ledger.complete(checkpoint)
        tell(self._observers, lambda observer: observer.completed(checkpoint))

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """Write a failed checkpoint into the history, and tell of it also where that fails."""
        try:
            self._ledger.failed(checkpoint)
        finally:
            tell(self._observers, lambda observer: observer.failed(checkpoint))


def tell(observers: Sequence[Observer], what: Callable[[Observer], None]) -> None:
    """Tell every observer; one that fails is no reason for a checkpoint to fail."""
    for observer in observers:
        try:
            what(observer)
        except Exception:
            log.warning("An observer of checkpoints failed", exc_info=True)
