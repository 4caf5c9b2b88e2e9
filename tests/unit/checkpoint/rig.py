"""A coordinator with an engine, a ledger and participants that do as they are told; the clock is moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.ports import Rules
from milepost.checkpoint.schedule import CheckpointSchedule
from milepost.checkpoint.stats.engine_report import SealReport
from milepost.errors import FencedError

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
EVERY_10_S = CheckpointSchedule(10, 0)


class ManualClock(Clock):
    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


class StubGate:
    def __init__(self) -> None:
        self.opened = 0
        self.broken = False

    def open(self) -> None:
        if self.broken:
            raise ConnectionError("the JVM is gone")
        self.opened += 1


class MemoryLedger:
    """Keeps everything in lists; `commits` is what Spark's commit log has."""

    def __init__(self) -> None:
        self.epoch = 3
        self.commits: set[int] = set()
        self.sealed: list[CompletedCheckpoint] = []
        self.completed: list[CompletedCheckpoint] = []
        self.failures: list[FailedCheckpoint] = []
        self.fenced = False
        self.full = False
        self.during: dict[str, Callable[[], object]] = {}
        """What happens elsewhere while the ledger is busy with one of its methods, once."""

    def _meanwhile(self, method: str) -> None:
        self.during.pop(method, lambda: None)()

    def verify_lease(self) -> None:
        self._meanwhile("verify_lease")
        if self.fenced:
            raise FencedError("Another driver has epoch 4")

    def seal(self, checkpoint: CompletedCheckpoint) -> None:
        self._meanwhile("seal")
        self.sealed.append(checkpoint)

    def committed(self, checkpoint: CompletedCheckpoint) -> CompletedCheckpoint | None:
        self._meanwhile("committed")
        if checkpoint.checkpoint_id not in self.commits:
            return None
        return replace(checkpoint, sources=({"orders": {0: 10 * checkpoint.checkpoint_id}},))

    def complete(self, checkpoint: CompletedCheckpoint) -> None:
        self._meanwhile("complete")
        if self.full:
            raise OSError(28, "No space left on device")
        self.completed.append(checkpoint)

    def failed(self, checkpoint: FailedCheckpoint) -> None:
        self.failures.append(checkpoint)


FAILED = FailedCheckpoint(
    checkpoint_id=CheckpointId(3),
    trigger=Trigger.PERIODIC,
    triggered_at=START,
    failed_at=START,
    reason=FailureReason.CHECKPOINT_DECLINED,
)


class Listener(CoordinatorListener):
    def __init__(self) -> None:
        self.heard: list[CompletedCheckpoint] = []

    def completed(self, checkpoint: CompletedCheckpoint) -> None:
        self.heard.append(checkpoint)


class Counter:
    """A participant with a state, which notes what happens to it."""

    name = "counter"

    def __init__(self) -> None:
        self.events: list[str] = []
        self.refuses: BaseException | None = None
        self.refuses_to_hear = False

    def snapshot_state(self, context: Any) -> Mapping[str, int]:
        self.events.append(f"snapshot {context.checkpoint_id}")
        if self.refuses is not None:
            raise self.refuses
        return {"count": int(context.checkpoint_id)}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.events.append(f"complete {checkpoint_id}")
        if self.refuses_to_hear:
            raise RuntimeError("the ledger is closed")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.events.append(f"aborted {checkpoint_id}")


class Rig:
    """A coordinator and everything around it."""

    def __init__(
        self,
        *,
        schedule: CheckpointSchedule = EVERY_10_S,
        tolerable: int = 0,
        participants: tuple[object, ...] = (),
    ) -> None:
        self.clock = ManualClock()
        self.gate = StubGate()
        self.ledger = MemoryLedger()
        self.listener = Listener()
        self.coordinator = CheckpointCoordinator(
            "job",
            Rules(schedule=schedule, timeout=60, tolerable_failures=tolerable),
            self.ledger,
            Participants(list(participants)),
            [self.listener],
            self.clock,
        )

    def start(self, last: int | None = None) -> Rig:
        self.coordinator.start(self.gate, None if last is None else checkpoint(last))
        return self

    def batch(self, batch_id: int, **report: Any) -> str:
        """Let the engine run a batch to its seal; commit it if it was sealed, otherwise return why it was declined."""
        declined = self.coordinator.seal(CheckpointId(batch_id), seal_report(**report))
        if declined is not None:
            return declined.reason
        self.ledger.commits.add(batch_id)
        self.coordinator.committed(CheckpointId(batch_id))
        return ""

    def advance(self, seconds: float = 0) -> float | None:
        self.clock.seconds += seconds
        return self.coordinator.advance()


def checkpoint(checkpoint_id: int) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint_id),
        trigger=Trigger.PERIODIC,
        triggered_at=START,
        completed_at=START,
        job_id="job",
        epoch=1,
    )


def seal_report(**changes: Any) -> SealReport:
    acks = (Acknowledgement(participant="writer/0", at=START, rows=5),)
    return replace(SealReport(acknowledgements=acks), **changes)


def error_of(future: Future[CompletedCheckpoint]) -> BaseException:
    error = future.exception(timeout=0)
    assert error is not None
    return error
