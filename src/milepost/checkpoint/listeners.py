"""Listeners of checkpoints: group offsets, claimed savepoints, the log, spans. They are notified in step 9."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint

log = logging.getLogger(__name__)


class CoordinatorListener:
    """Is notified of attempts and of the end of every checkpoint, and ignores what it does not override.

    A method must neither block nor raise; an exception is logged and does not affect the checkpoint.
    """

    def initialized(self, began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> None:
        """An attempt runs, from that checkpoint on."""

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        """A checkpoint is stored; called once per id, in order."""

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        """A checkpoint was aborted."""


def notify(listeners: Sequence[CoordinatorListener], event: Callable[[CoordinatorListener], None]) -> None:
    """Notify every listener, also after one of them has raised."""
    for listener in listeners:
        try:
            event(listener)
        except Exception:
            log.warning("A listener of checkpoints failed", exc_info=True)
