"""A checkpoint directory as a job has left it, to be looked into."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.manifest import to_json
from milepost.checkpoint.store.store import LocalStore

NOON = datetime(2026, 11, 15, 12, tzinfo=timezone.utc)
DETAILS = {"write": "mutations"}
ERAS = {"orders": {"id": "qX4", "begun": 0, "eras": [{"generation": 0, "order": "offset", "from": {"0": 0}}]}}


def completed(number: int, **changes: Any) -> CompletedCheckpoint:
    """Checkpoint N begins 10 s after the one before, takes 210 ms, and ends at offset 10 * (N + 1)."""
    at = NOON + timedelta(seconds=10 * number)
    known: dict[str, Any] = {
        "checkpoint_id": CheckpointId(number),
        "trigger": Trigger.PERIODIC,
        "triggered_at": at,
        "completed_at": at + timedelta(milliseconds=210),
        "job_id": "6b1e",
        "epoch": 3,
        "sources": ({"orders": {0: 10 * (number + 1), 1: 10 * (number + 1) - 1}},),
        "topic_ids": {"orders": "qX4"},
        "versions": ERAS,
        "acknowledgements": (
            Acknowledgement(
                participant="writer/0",
                at=at,
                duration_ms=12,
                rows=10,
                bytes=4096,
                details=DETAILS,
            ),
            Acknowledgement(participant="writer/1", at=at, duration_ms=9, rows=9, bytes=4000),
        ),
        "states": {"counter": {"seen": 19 * (number + 1)}},
    }
    return CompletedCheckpoint(**(known | changes))


def failed(number: int, seconds: float = 5, **changes: Any) -> FailedCheckpoint:
    """A checkpoint that was declined so many seconds after checkpoint N would have begun."""
    at = NOON + timedelta(seconds=10 * number + seconds)
    known: dict[str, Any] = {
        "checkpoint_id": CheckpointId(number),
        "trigger": Trigger.ON_DEMAND,
        "triggered_at": at,
        "failed_at": at + timedelta(seconds=1),
        "reason": FailureReason.CHECKPOINT_DECLINED,
        "detail": "'audit' raised",
        "acknowledged": 1,
        "waiting_for": 2,
    }
    return FailedCheckpoint(**(known | changes))


class LeftBehind:
    """Writes what a driver would write, without a driver."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = LocalStore(root)
        self.files = CheckpointFiles(self.store)
        self.history = History(self.store)
        (root / "offsets").mkdir(parents=True)

    def take(self, *checkpoints: CompletedCheckpoint | FailedCheckpoint, retained: int = 1000) -> LeftBehind:
        for checkpoint in checkpoints:
            if isinstance(checkpoint, CompletedCheckpoint):
                self.files.complete(checkpoint)
                self.files.retain(retained)
            self.history.append(checkpoint)
        return self

    def take_many(self, count: int) -> LeftBehind:
        """Write the manifests of many checkpoints at once, not durably: a disk would take minutes for it."""
        folder = self.root / "milepost" / "checkpoints"
        folder.mkdir(parents=True)
        for number in range(count):
            (folder / f"{number}.json").write_bytes(to_json(completed(number)))
        return self
