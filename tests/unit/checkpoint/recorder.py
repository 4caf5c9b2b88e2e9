"""A participant, a hook that hangs and a coordinator, as the tests of chains need them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from milepost.checkpoint.model import Acknowledgement, AckResult, CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.participants.chains import Participants, Snapshot
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
LONG = 10.0
SEVEN, EIGHT = CheckpointId(7), CheckpointId(8)

Hook = Callable[[Any], Any]


class Recorder:
    """A participant that writes down what it is asked, and does what it was given for that."""

    def __init__(self, name: str, story: list[str], **hooks: Hook) -> None:
        self.name = name
        self._story = story
        self._hooks = hooks

    def _do(self, what: str, argument: Any) -> Any:
        self._story.append(f"{self.name} {what}")
        return self._hooks[what](argument) if what in self._hooks else None

    def initialize_state(self, context: InitializationContext) -> None:
        self._do("initialize", context)

    def snapshot_state(self, context: SnapshotContext) -> Any:
        return self._do("snapshot", context)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._do("complete", checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._do("aborted", checkpoint_id)


class Hold:
    """A hook that says when it was begun and does not return before it is let go."""

    def __init__(self, release: threading.Event, result: Any = None) -> None:
        self.begun = threading.Event()
        self._release = release
        self._result = result

    def __call__(self, argument: Any) -> Any:
        self.begun.set()
        assert self._release.wait(LONG)
        return self._result

    def wait(self, settled: threading.Event, timeout: float) -> bool:
        """Let the time be over as soon as the hook has begun: a timeout without a clock."""
        assert self.begun.wait(LONG)
        return False


class Acks:
    """A coordinator that counts, until the checkpoint is aborted."""

    def __init__(self, answer: AckResult = AckResult.SUCCESS) -> None:
        self.answer = answer
        self.names: list[str] = []
        self.all: list[Acknowledgement] = []

    def __call__(self, acknowledgement: Acknowledgement) -> AckResult:
        self.names.append(acknowledgement.participant)
        self.all.append(acknowledgement)
        return self.answer


def boom(argument: Any) -> None:
    raise ValueError("boom")


def leave(argument: Any) -> None:
    sys.exit(3)


def join_chains() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("milepost-chain-"):
            thread.join(LONG)
            assert not thread.is_alive()


def take(participants: Participants, acks: Acks, checkpoint_id: CheckpointId = SEVEN) -> Snapshot:
    return participants.snapshot(checkpoint_id, NOW, timeout=LONG, acknowledge=acks)


def completed(checkpoint_id: int = 7, **parts: Any) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint_id),
        trigger=Trigger.PERIODIC,
        triggered_at=NOW,
        completed_at=NOW,
        job_id="j",
        epoch=1,
        **parts,
    )
