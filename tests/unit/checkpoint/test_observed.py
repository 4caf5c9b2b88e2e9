"""Observers see how checkpoints end, and cannot disturb them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.unit.checkpoint.rig import START, checkpoint

from milepost.checkpoint.model import (
    CheckpointId,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.observed import ObservedLedger, Observer

FAILED = FailedCheckpoint(
    checkpoint_id=CheckpointId(3),
    trigger=Trigger.PERIODIC,
    triggered_at=START,
    failed_at=START,
    reason=FailureReason.CHECKPOINT_DECLINED,
)


class Notes:
    """A ledger, or an observer, that writes down what it is told."""

    epoch = 4

    def __init__(self, fails: bool = False) -> None:
        self.told: list[Any] = []
        self._fails = fails

    def verify_lease(self) -> None:
        self._note("lease")

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        self._note(("seal", checkpoint.checkpoint_id))

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        self._note("committed")
        return checkpoint

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        self._note(("complete", checkpoint.checkpoint_id))

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._note(("completed", checkpoint.checkpoint_id))

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        self._note(("failed", checkpoint.checkpoint_id))

    def initialized(self, began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> None:
        self._note("initialized")

    def _note(self, what: Any) -> None:
        self.told.append(what)
        if self._fails:
            raise OSError("the disk is full")


def test_observers_hear_what_the_ledger_has_written():
    kept, seen = Notes(), Notes()
    ledger = ObservedLedger(kept, [seen])
    ledger.verify_lease()
    ledger.seal(checkpoint(2))
    assert ledger.committed(checkpoint(2)) == checkpoint(2)
    ledger.complete(checkpoint(2))
    ledger.failed(FAILED)
    assert kept.told == ["lease", ("seal", 2), "committed", ("complete", 2), ("failed", 3)]
    assert seen.told == [("completed", 2), ("failed", 3)]
    assert ledger.epoch == 4


def test_what_was_not_stored_has_not_completed():
    seen = Notes()
    with pytest.raises(OSError, match="disk"):
        ObservedLedger(Notes(fails=True), [seen]).complete(checkpoint(2))
    assert seen.told == []


def test_a_failed_checkpoint_is_told_although_the_history_cannot_be_written():
    seen = Notes()
    with pytest.raises(OSError, match="disk"):
        ObservedLedger(Notes(fails=True), [seen]).failed(FAILED)
    assert seen.told == [("failed", 3)]


def test_an_observer_that_fails_disturbs_nobody(caplog: pytest.LogCaptureFixture):
    bad, good = Notes(fails=True), Notes()
    observers: list[Observer] = [bad, good]
    ObservedLedger(Notes(), observers).complete(checkpoint(2))
    assert good.told == [("completed", 2)]
    assert "An observer of checkpoints failed" in caplog.text
