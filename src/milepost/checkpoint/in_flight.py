"""The checkpoints between their trigger and their end, as one value with its moves. Pure: time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from milepost.checkpoint import decide
from milepost.checkpoint.model import (
    Acknowledgement,
    AckResult,
    CheckpointId,
    PendingCheckpoint,
    Trigger,
)
from milepost.checkpoint.stats.engine_report import LiveBatch, SealReport


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of an event: as a date, and as a deadline."""

    at: datetime
    deadline: float
    """When a checkpoint that begins at this moment expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """At most one triggered checkpoint and one whose batch runs; in general they are the same."""

    participants: frozenset[str]
    is_free_running: bool = False
    """Whether the engine begins one batch after the other without being asked."""
    is_continuous: bool = False
    """Whether records flow continuously, so the end of any batch is a boundary after every request."""
    last: CheckpointId | None = None
    triggered: PendingCheckpoint | None = None
    running: PendingCheckpoint | None = None

    @property
    def pending(self) -> PendingCheckpoint | None:
        """Return the checkpoint in flight."""
        return self.running or self.triggered

    @property
    def is_full(self) -> bool:
        """Return whether no further one may be asked for: a free-running engine always has a batch."""
        return self.triggered is not None or (self.running is not None and not self.is_free_running)

    def begin(self, trigger: Trigger, moment: Moment) -> InFlight:
        """Step 1: a checkpoint is asked for."""
        return replace(self, triggered=self._new(decide.next_id(self.last), trigger, moment))

    def observe(self, live: LiveBatch, moment: Moment) -> InFlight:
        """Step 5: a batch is seen to run, with the acknowledgements of some of its writers."""
        if self.last is not None and live.batch_id <= self.last:
            return self
        if self.running is not None and self.running.checkpoint_id != live.batch_id:
            # A free-running engine is in its next batch while the one before it is being completed.
            return self
        running = self.running or self._found(CheckpointId(live.batch_id), moment)
        running = replace(
            running,
            # An engine that only shows the first acknowledgements of a batch does not know its tasks yet.
            waiting_for=running.waiting_for | live.names,
            has_tasks=running.has_tasks or live.tasks > 0,
        )
        # The engine reports all acknowledgements so far each time; the first one of a writer counts.
        seen = {ack.participant: ack for ack in live.acknowledgements}
        return replace(self, running=replace(running, acknowledged={**seen, **running.acknowledged}))

    def seal(self, checkpoint_id: CheckpointId, report: SealReport, moment: Moment) -> InFlight:
        """Step 6: all writers of a batch have acknowledged; the batch may not have been requested."""
        was_wanted = report.was_wanted or self.is_continuous
        trigger = decide.trigger_of(self.triggered, was_admitted=report.was_admitted, was_wanted=was_wanted)
        triggered = self.triggered
        pending = self.running or self._new(checkpoint_id, trigger, moment)
        if triggered is not None and trigger is not Trigger.ENGINE and was_wanted:
            pending, triggered = triggered, None
        elif triggered is not None:
            # Spark went ahead with a batch of its own; the one that was asked for is the next.
            triggered = replace(triggered, checkpoint_id=decide.next_id(checkpoint_id))
        engine = {ack.participant: ack for ack in report.acknowledgements}
        running = replace(
            pending,
            checkpoint_id=checkpoint_id,
            trigger=trigger,
            waiting_for=self.participants | engine.keys(),
            has_tasks=True,
            acknowledged=engine,
        )
        return replace(self, triggered=triggered, running=running)

    def acknowledge(self, ack: Acknowledgement) -> tuple[InFlight, AckResult]:
        """Step 6: a Python participant has its snapshot."""
        if self.running is None:
            return self, AckResult.DISCARDED
        running, result = decide.acknowledge(self.running, ack)
        return replace(self, running=running), result

    def completed(self, checkpoint_id: CheckpointId) -> InFlight:
        """Step 8: it is stored."""
        return replace(self, running=None, last=checkpoint_id)

    def aborted(self) -> InFlight:
        """Return the state without a checkpoint in flight."""
        return replace(self, running=None, triggered=None)

    def _found(self, checkpoint_id: CheckpointId, moment: Moment) -> PendingCheckpoint:
        if self.triggered is not None and not self.is_free_running:
            return replace(self.triggered, checkpoint_id=checkpoint_id)
        trigger = Trigger.PERIODIC if self.is_free_running else Trigger.ENGINE
        return self._new(checkpoint_id, trigger, moment)

    def _new(self, checkpoint_id: CheckpointId, trigger: Trigger, moment: Moment) -> PendingCheckpoint:
        return PendingCheckpoint(
            checkpoint_id=checkpoint_id,
            trigger=trigger,
            triggered_at=moment.at,
            deadline=moment.deadline,
            waiting_for=self.participants,
        )
