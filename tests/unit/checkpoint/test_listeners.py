"""Listeners are notified of the end of every checkpoint, and cannot disturb it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.checkpoint.rig import FAILED, Rig, checkpoint

from milepost.checkpoint.listeners import CoordinatorListener, notify
from milepost.checkpoint.model import CompletedCheckpoint, FailedCheckpoint, FailureReason


class Notes(CoordinatorListener):
    """Writes down its notifications, and may raise after each."""

    def __init__(self, error: Exception | None = None) -> None:
        self.events: list[Any] = []
        self._error = error

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._note(("completed", checkpoint.checkpoint_id))

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        self._note(("failed", checkpoint.checkpoint_id, checkpoint.reason))

    def _note(self, event: Any) -> None:
        self.events.append(event)
        if self._error is not None:
            raise self._error


def test_a_listener_ignores_what_it_does_not_override() -> None:
    notify([CoordinatorListener()], lambda listener: listener.completed(checkpoint(2)))
    notify([CoordinatorListener()], lambda listener: listener.failed(FAILED))


def test_a_listener_that_raises_does_not_keep_others_from_the_news(caplog: pytest.LogCaptureFixture) -> None:
    bad, good = Notes(OSError("the disk is full")), Notes()
    notify([bad, good], lambda listener: listener.completed(checkpoint(2)))
    assert good.events == [("completed", 2)]
    assert "A listener of checkpoints failed" in caplog.text


def test_a_checkpoint_completes_although_a_listener_raises() -> None:
    rig = Rig()
    rig.coordinator._listeners = (Notes(OSError("the disk is full")),)
    rig.start().advance()
    rig.batch(0)
    rig.advance()
    assert rig.coordinator.stats.completed == 1


def test_a_failed_checkpoint_is_reported_although_the_history_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(_checkpoint: FailedCheckpoint) -> None:
        raise OSError("the disk is full")

    rig, notes = Rig(), Notes()
    rig.coordinator._listeners = (notes,)
    monkeypatch.setattr(rig.ledger, "failed", full)
    rig.start().advance()
    rig.ledger.fenced = True
    assert rig.batch(0)
    assert notes.events == [("failed", 0, FailureReason.FENCED)]
