"""The coordinator: triggers checkpoints, collects acknowledgements, completes checkpoints and notifies listeners.

It decides with `decide`, and acts on a gate, a ledger, participants and listeners. One checkpoint:

1 decide     `advance` finds that one is due or requested, and opens the gate
2 to 5       the engine: boundary, offset log, writes, acknowledgements; `observe` records them
6 seal       `seal`, called by the engine: participants take snapshots, the ledger stores what must survive
7 commit     Spark's commit log
8 complete   `committed` is called when the engine is back at the gate; `advance` stores the checkpoint
9 notify     `advance` notifies participants and listeners, in order and once per id

It follows the job's status and outlives the attempts of a job.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from milepost.checkpoint import decide
from milepost.checkpoint.clock import Clock
from milepost.checkpoint.failpoint import reach
from milepost.checkpoint.in_flight import InFlight, Moment
from milepost.checkpoint.listeners import CoordinatorListener, notify
from milepost.checkpoint.model import (
    Acknowledgement,
    AckResult,
    CheckpointId,
    CompletedCheckpoint,
    Declined,
    FailedCheckpoint,
    FailureReason,
    PendingCheckpoint,
    Trigger,
    Value,
)
from milepost.checkpoint.participants.chains import Participants, Snapshot
from milepost.checkpoint.participants.value import storable
from milepost.checkpoint.ports import Gate, Ledger, Rules
from milepost.checkpoint.requests import Attachments, Pin, Request, Requests
from milepost.checkpoint.stats import failure
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.stats.engine_report import LiveBatch, SealReport
from milepost.checkpoint.stats.failure import Cause
from milepost.checkpoint.store.unwritable import storage_error
from milepost.errors import CheckpointError, FencedError, MilepostError, StorageError

log = logging.getLogger(__name__)

_ABORT_TIMEOUT = 10.0
_ASKED_FOR = (Trigger.SYNC_SAVEPOINT, Trigger.SAVEPOINT, Trigger.ON_DEMAND)
"""In order of precedence: a checkpoint that serves several requests reports the first of these triggers."""


class CheckpointCoordinator:
    """Coordinates the checkpoints of one job. Every method may be called from any thread."""

    def __init__(
        self,
        job_id: str,
        rules: Rules,
        ledger: Ledger,
        participants: Participants,
        listeners: Sequence[CoordinatorListener] = (),
        clock: Clock | None = None,
    ) -> None:
        """Do nothing before `start`."""
        self.changed = threading.Condition()
        self.calls = 0
        """Grows with every call that `advance` must react to."""
        self.attempt = 0
        """How often it was stopped. Each call of the engine names its attempt."""
        self.stats = CheckpointStats()
        self.failure: MilepostError | None = None
        self.redact: Callable[[str], str] = str
        """Applied to each failure before it is stored or shown: a user's error may contain a secret."""
        self._job_id = job_id
        self._rules = rules
        self._ledger = ledger
        self._participants = participants
        self._listeners = tuple(listeners)
        self._clock = clock or Clock()
        self._in_flight = InFlight(
            participants=frozenset(participants.names),
            is_free_running=rules.schedule.is_free_running,
            is_continuous=rules.is_continuous,
        )
        self._completing = threading.Lock()
        """Held by the thread that completes: the coordinator's own, or the one that stops it."""
        self._gate: Gate | None = None
        self._generation = 0
        """Grows when sealing begins and when a checkpoint is sealed or ends. An action of an older one is too late."""
        self._due = self._pause_ends = 0.0
        self._sealed: CompletedCheckpoint | None = None
        self._committed: deque[CheckpointId] = deque()
        self._aborted: deque[CheckpointId] = deque()
        self._requests = Requests()
        self._attachments = Attachments()
        self._failures_in_a_row = 0
        self._refusals: dict[Trigger, FailureReason | None] = {}

    # ---- with the job's status ----

    def start(self, gate: Gate, restored: CompletedCheckpoint | None) -> None:
        """Begin to trigger: the job runs, starting from that checkpoint."""
        with self.changed:
            self._gate = gate
            self.failure = None
            self._generation += 1
            self._in_flight = replace(
                self._in_flight.aborted(), last=None if restored is None else restored.checkpoint_id
            )
            self.stats.restore(restored)
            self._due = max(self._rules.schedule.first(self._clock.monotonic()), self._pause_ends)
            self._wake()

    def recovered(self, checkpoint: CompletedCheckpoint) -> None:
        """Count a checkpoint that Spark had committed without a manifest, and that the start has completed."""
        with self.changed:
            if checkpoint.job_id == self._job_id:
                self.stats.add(checkpoint)
            else:
                self.stats.remember(checkpoint)

    def stop(self, cause: Cause) -> None:
        """Stop with the job: complete what Spark has committed, abort the rest, refuse requests."""
        with self.changed:
            self._gate = None
            self.attempt += 1
            if self._sealed is not None and self._sealed.checkpoint_id not in self._committed:
                self._committed.append(self._sealed.checkpoint_id)
            self._wake()
            refused = self._requests.refuse()
        for request in refused:
            request.set_exception(failure.refusal(FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN))
        try:
            self._complete_all()
        finally:
            self._abort(cause)
            self._tell_aborted()

    # ---- requests ----

    def trigger(self, pin: Pin | None = None, trigger: Trigger = Trigger.ON_DEMAND) -> Request:
        """Request a checkpoint. The future returns it once it is complete, or raises why there is none.

        For a savepoint, `pin` is called in step 8, before any file of the checkpoint can be removed.
        """
        answer = Request(pin, trigger)
        with self.changed:
            if self._gate is None:
                answer.set_exception(failure.refusal(FailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING))
            else:
                self._requests.add(answer)
                self._wake()
        return answer

    def attach(self, key: str, value: Value) -> None:
        """Store a value with the next checkpoint. A job that starts from that checkpoint gets it back."""
        with self.changed:
            self._attachments.add(key, storable(value, f"The extra value {key!r}", "the pipeline"))

    @property
    def pending(self) -> PendingCheckpoint | None:
        """Return the checkpoint in flight, with the acknowledgements so far."""
        return self._in_flight.pending

    @property
    def is_tolerable(self) -> bool:
        """Return whether checkpoints have failed since the last completed one, but no more than are tolerable."""
        failures = self._failures_in_a_row
        return failures > 0 and decide.is_tolerable(failures, self._rules.tolerable_failures)

    @property
    def is_free_running(self) -> bool:
        """Return whether one checkpoint follows the other without a trigger."""
        return self._rules.schedule.is_free_running

    def _wake(self) -> None:
        self.calls += 1
        self.changed.notify_all()

    # ---- the coordinator's own thread ----

    def advance(self) -> float | None:
        """Do what is due. Return the seconds until more is due, or None if only a call can bring more."""
        self._complete_all()
        self._tell_aborted()
        now = self._clock.monotonic()
        for trigger in (*_ASKED_FOR, Trigger.PERIODIC):
            self._begin(trigger, now)
        with self.changed:
            is_idle = self._gate is not None and self.failure is None and self._in_flight.pending is None
            if not is_idle or self._rules.schedule.is_free_running:
                return None
            return max(self._due - self._clock.monotonic(), 0.0)

    def give_up(self, error: MilepostError) -> None:
        """Fail the job, since the coordinator itself has failed."""
        with self.changed:
            self.failure = error

    def is_drained(self) -> bool:
        """Return whether every checkpoint that Spark has committed is complete and notified."""
        return not self._committed

    def is_settled(self) -> bool:
        """Return whether it is drained and Spark cannot have committed a sealed checkpoint without reporting it."""
        return not self._committed and self._sealed is None

    def observe(self, live: LiveBatch | None) -> None:
        """Record the acknowledgements of a running batch (step 5), and abort a checkpoint that has expired."""
        with self.changed:
            # The engine reports a declined batch as running for a moment.
            if live is not None and self._gate is not None and self.failure is None:
                self._in_flight = self._in_flight.observe(live, self._moment())
            late, generation = self._in_flight.pending, self._generation
            if late is None or not decide.is_expired(late, self._clock.monotonic()):
                return
            if self._sealed is not None:
                # Spark may commit it at any moment, so it is not aborted. Its log is read when the job stops.
                if not self._committed and self._sealed.checkpoint_id == late.checkpoint_id:
                    uncommitted = failure.uncommitted(late.checkpoint_id, self._rules.timeout)
                    self.failure = self.failure or uncommitted
                return
        self._abort(failure.expired(late, self._rules.timeout), generation)

    # ---- the engine's thread ----

    def seal(
        self, checkpoint_id: CheckpointId, report: SealReport, attempt: int | None = None
    ) -> Declined | None:
        """Step 6: every writer has acknowledged. Return None once it is sealed, or why it is declined.

        `attempt` is the attempt that the batch belongs to; without it, the current one.
        """
        try:
            pending, generation = self._begin_sealing(checkpoint_id, report, attempt)
        except CheckpointError as error:
            return Declined(str(error))
        try:
            self._ledger.verify_lease()
            if report.topic_fault is not None:
                raise failure.recreated(report.topic_fault)
            if report.writer_fault is not None:
                raise failure.fenced(report.writer_fault)
            snapshot = self._participants.snapshot(
                checkpoint_id,
                pending.triggered_at,
                timeout=max(pending.deadline - self._clock.monotonic(), 0.0),
                acknowledge=partial(self._acknowledge, generation),
            )
            self._keep(pending, generation, report, snapshot)
        except (OSError, MilepostError) as error:
            cause = failure.cause_of(error)
            self._abort(cause, generation)
            return Declined(self.redact(str(cause.error)))
        return None

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Begin step 8: the engine is back at the gate, so Spark's commit log has the batch. Return at once."""
        with self.changed:
            self._committed.append(checkpoint_id)
            self._wake()

    # ---- 1 decide ----

    def _begin(self, trigger: Trigger, now: float) -> None:
        with self.changed:
            if not self._is_wanted(trigger, now) or self._refused(trigger, now):
                return
            gate = self._gate
            reach("1-decide")
            self._in_flight = self._in_flight.begin(trigger, self._moment())
            self._requests.trigger()
            self._due = self._rules.schedule.next(triggered_at=now, completed_at=now)
            generation = self._generation
        try:
            if gate is not None:
                gate.open()
        except Exception as error:  # the engine's JVM may be gone
            self._abort(Cause(FailureReason.TRIGGER_CHECKPOINT_FAILURE, str(error)), generation)

    def _is_wanted(self, trigger: Trigger, now: float) -> bool:
        if trigger in _ASKED_FOR:
            return self._requests.has(trigger)
        return not self._rules.schedule.is_free_running and now >= self._due

    def _refused(self, trigger: Trigger, now: float) -> bool:
        refusal = decide.refuse_trigger(
            trigger,
            is_running=self._gate is not None,
            is_stopping=self.failure is not None,
            pending=int(self._in_flight.is_full),
            pause_ends=self._pause_ends,
            now=now,
        )
        # A refused trigger stays requested, so only a new reason is counted.
        if refusal is not None and self._refusals.get(trigger) is not refusal:
            self.stats.refused_triggers[refusal] += 1
            log.debug("No %s checkpoint now, %s: %s", trigger.name, refusal.name, refusal.sentence)
        self._refusals[trigger] = refusal
        return refusal is not None

    def _moment(self) -> Moment:
        return Moment(self._clock.now(), self._clock.monotonic() + self._rules.timeout)

    # ---- 6 seal ----

    def _begin_sealing(
        self, checkpoint_id: CheckpointId, report: SealReport, attempt: int | None
    ) -> tuple[PendingCheckpoint, int]:
        with self.changed:
            mine = self.attempt if attempt is None else attempt
            # Participants are notified of the previous checkpoint before they take a snapshot for this one. And a
            # replay may reach this point before its attempt has started.
            self.changed.wait_for(
                lambda: self.attempt != mine or (self._gate is not None and not self._committed),
                timeout=self._rules.timeout,
            )
            if self.attempt != mine or self._gate is None or self.failure is not None:
                raise failure.unsealable(checkpoint_id, "its attempt is not running")
            if self._committed:
                raise failure.unsealable(checkpoint_id, "the previous checkpoint was not completed in time")
            self._in_flight = self._in_flight.seal(checkpoint_id, report, self._moment())
            if self._in_flight.triggered is None:
                self._requests.seal()
            assert self._in_flight.running is not None  # `seal` has just set it
            self._generation += 1
            return self._in_flight.running, self._generation

    def _acknowledge(self, generation: int, ack: Acknowledgement) -> AckResult:
        result = AckResult.DISCARDED
        with self.changed:
            if self._generation == generation:
                self._in_flight, result = self._in_flight.acknowledge(ack)
            self.stats.acknowledgements[result] += 1
        if result is not AckResult.SUCCESS:
            log.warning("The acknowledgement of %s was %s: %s", ack.participant, result.name, result.value)
        return result

    def _keep(self, pending: PendingCheckpoint, generation: int, report: SealReport, taken: Snapshot) -> None:
        """Keep the sealed checkpoint, on disk if a crash before step 8 would lose a state or a count."""
        with self.changed:
            self._require(generation, pending)
            running = self._in_flight.running or pending
            sealed = CompletedCheckpoint(
                checkpoint_id=pending.checkpoint_id,
                trigger=pending.trigger,
                triggered_at=pending.triggered_at,
                completed_at=self._clock.now(),
                job_id=self._job_id,
                epoch=self._ledger.epoch,
                topic_ids=report.topic_ids,
                versions=report.versions,
                acknowledgements=tuple(running.acknowledged.values()),
                states=taken.states,
                extra={**self._attachments.take(), **taken.extra},
                rejected=report.rejected,
                late=report.late,
                late_total=self.stats.late_total(report.late),
            )
        if sealed.states or sealed.extra or sealed.late:
            self._ledger.seal(sealed)
        with self.changed:
            # From here on it cannot be aborted; only Spark can still fail.
            self._require(generation, pending)
            self._sealed = sealed
            self._generation += 1

    def _require(self, generation: int, pending: PendingCheckpoint) -> None:
        if self._generation != generation:
            raise failure.unsealable(pending.checkpoint_id, "it was aborted in the meantime")

    # ---- 8 complete, 9 notify ----

    def _complete_all(self) -> None:
        with self._completing:
            while self._committed:
                try:
                    if self._sealed is not None and self._sealed.checkpoint_id == self._committed[0]:
                        self._complete(self._sealed)
                finally:
                    with self.changed:
                        self._committed.popleft()
                        self._wake()

    def _complete(self, sealed: CompletedCheckpoint) -> None:
        try:
            # Spark's log is read again: neither an event nor the order of events is proof.
            stored = self._ledger.committed(sealed)
            if stored is None:
                self._missed()
                return
            # A driver that was paused after its seal must not overwrite what its successor has stored.
            self._ledger.verify_lease()
            stored = replace(stored, completed_at=self._clock.now())
            reach("8-complete-before")
            self._ledger.complete(stored)
            reach("8-complete-after")
        except (OSError, MilepostError) as error:
            cause = failure.cause_of(error)
            is_more = isinstance(cause.error, FencedError | StorageError)
            self._fail(cause if is_more else replace(cause, error=None))
            return
        with self.changed:
            self._finish(stored)
            served = self._requests.complete()
        for pin in (request.pin for request in served if request.pin is not None):
            pin(stored)
        try:
            reach("9-notify-before")
            self._tell_completed(stored)
        finally:
            for request in served:
                request.set_result(stored)
        reach("9-notify-after")

    def _missed(self) -> None:
        """Fail a checkpoint that the engine reported, unlike while stopping, and that Spark's log does not have."""
        if self._gate is not None:
            why = "Spark's commit log has no complete entry for it"
            self._fail(Cause(FailureReason.FINALIZE_CHECKPOINT_FAILURE, why))

    def _finish(self, stored: CompletedCheckpoint) -> None:
        self._generation += 1
        self.stats.add(stored)
        self._in_flight = self._in_flight.completed(stored.checkpoint_id)
        self._failures_in_a_row = 0
        self._sealed = None
        self._pause_ends = self._clock.monotonic() + self._rules.schedule.min_pause
        self._due = max(self._due, self._pause_ends)
        self._attachments.complete()

    def _tell_completed(self, stored: CompletedCheckpoint) -> None:
        notify(self._listeners, lambda listener: listener.completed(stored))
        try:
            self._participants.notify_complete(stored.checkpoint_id, timeout=self._rules.timeout)
        except MilepostError as error:
            # As in Flink: the checkpoint stays valid, the job fails.
            with self.changed:
                self.failure = error

    # ---- failure ----

    def _abort(self, cause: Cause, generation: int | None = None) -> None:
        """Abort the checkpoint in flight. Its batch runs again, so participants are notified to roll back."""
        failed = self._fail(cause, generation)
        if failed is not None:
            with self.changed:
                self._aborted.append(failed.checkpoint_id)
                self._wake()

    def _fail(self, cause: Cause, generation: int | None = None) -> FailedCheckpoint | None:
        """Fail the checkpoint in flight without notifying participants: Spark may have committed it (step 7).

        If so, the next attempt resumes from it, and a participant that had rolled back would lose its content.
        Does nothing if `generation` is given and is not the current one.
        """
        with self.changed:
            pending = self._in_flight.pending
            if pending is None or generation not in (None, self._generation):
                return None
            self._generation += 1
            self._in_flight, self._sealed = self._in_flight.aborted(), None
            self._attachments.give_back()
            failed = failure.failed(pending, cause.map_text(self.redact), self._clock.now())
            self.stats.add(failed)
            self._failures_in_a_row += int(decide.is_failure_of_checkpoint(cause.reason))
            if cause.reason not in failure.NOT_OF_THE_CHECKPOINT:
                self.failure = cause.error or failure.failure_of(failed)
            refused = self._requests.fail()
        _quietly(lambda: self._ledger.failed(failed))
        notify(self._listeners, lambda listener: listener.failed(failed))
        for request in refused:
            request.set_exception(failure.failure_of(failed))
        return failed

    def _tell_aborted(self) -> None:
        while True:
            with self.changed:
                if not self._aborted:
                    return
                checkpoint_id = self._aborted.popleft()
            _quietly(partial(self._participants.notify_aborted, checkpoint_id, timeout=_ABORT_TIMEOUT))


def _quietly(action: Callable[[], None]) -> None:
    """Run an action during a failure; a further failure must not hide the first one."""
    try:
        action()
    except OSError as error:
        # The job fails because of the same directory and reports it.
        log.info("While a checkpoint was aborted: %s", storage_error(error))
    except Exception:
        log.warning("While a checkpoint was aborted", exc_info=True)
