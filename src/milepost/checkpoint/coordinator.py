"""The coordinator: begins checkpoints, collects their acknowledgements, completes them, tells who must know.

It decides with `decide`, and acts on what it is given: a gate, a ledger, participants, listeners. One checkpoint:

1 decide     `advance` finds that one is due or wanted, and opens the gate
2 to 5       the engine: boundary, offset log, writes, acknowledgements; `observe` sees them come in
6 seal       `seal`, called by the engine: participants snapshot, the ledger holds what must survive
7 commit     Spark's commit log
8 complete   `committed` is called when the engine is back at the gate; `advance` stores the checkpoint
9 notify     `advance` tells participants and listeners, in order and once per id

It starts and stops with the job's status, and outlives the attempts of a job.
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
from milepost.checkpoint.in_flight import Flight, Moment
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
"""In this order: one that serves several is told as what it does most for."""


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
        """Know everything, do nothing yet."""
        self.changed = threading.Condition()
        self.calls = 0
        """Grows with every call that `advance` should hear of."""
        self.attempt = 0
        """How often it was stopped: a call of the engine names the attempt it belongs to."""
        self.stats = CheckpointStats()
        self.failure: MilepostError | None = None
        self.redact: Callable[[str], str] = str
        """What is stored and shown of a failure goes through it: a user's error may hold a secret."""
        self._job_id = job_id
        self._rules = rules
        self._ledger = ledger
        self._participants = participants
        self._listeners = tuple(listeners)
        self._clock = clock or Clock()
        self._flight = Flight(
            participants=frozenset(participants.names),
            is_free_running=rules.pace.is_free_running,
            is_continuous=rules.is_continuous,
        )
        self._completing = threading.Lock()
        """Held by whoever completes: the coordinator's own thread, or the one that stops it."""
        self._gate: Gate | None = None
        self._moves = 0
        """Grows when a checkpoint begins to be sealed, is sealed or ends: who acted for it before is too late."""
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
        """The job runs, from that checkpoint on: begin to trigger."""
        with self.changed:
            self._gate = gate
            self.failure = None
            self._moves += 1
            self._flight = replace(
                self._flight.aborted(), last=None if restored is None else restored.checkpoint_id
            )
            self.stats.restore(restored)
            self._due = max(self._rules.pace.first(self._clock.monotonic()), self._pause_ends)
            self._wake()

    def recovered(self, checkpoint: CompletedCheckpoint) -> None:
        """A start has completed a checkpoint that Spark had committed and that had no manifest."""
        with self.changed:
            if checkpoint.job_id == self._job_id:
                self.stats.add(checkpoint)
            else:
                self.stats.remember(checkpoint)

    def stop(self, cause: Cause) -> None:
        """The job runs no longer: what Spark has committed completes, the rest is aborted, requests are refused."""
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

    # ---- what people ask for ----

    def trigger(self, pin: Pin | None = None, trigger: Trigger = Trigger.ON_DEMAND) -> Request:
        """Ask for a checkpoint; the future has it once it is complete, or says why there is none.

        Where a savepoint is to be taken of it, `pin` is called in step 8, before anything of it can go.
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
        """Store something with the next checkpoint; it is given back when the job starts from that one."""
        with self.changed:
            self._attachments.add(key, storable(value, f"The extra value {key!r}", "the pipeline"))

    @property
    def pending(self) -> PendingCheckpoint | None:
        """Return the checkpoint in flight, with the acknowledgements so far."""
        return self._flight.pending

    @property
    def is_tolerable(self) -> bool:
        """Return whether the job bears the checkpoints that failed since the last one completed."""
        failures = self._failures_in_a_row
        return failures > 0 and decide.is_tolerable(failures, self._rules.tolerable_failures)

    @property
    def is_free_running(self) -> bool:
        """Return whether one checkpoint follows the other without being asked for."""
        return self._rules.pace.is_free_running

    def _wake(self) -> None:
        self.calls += 1
        self.changed.notify_all()

    # ---- the coordinator's own thread ----

    def advance(self) -> float | None:
        """Do what is due; return the seconds until more is due, or None if only a call can bring more."""
        self._complete_all()
        self._tell_aborted()
        now = self._clock.monotonic()
        for trigger in (*_ASKED_FOR, Trigger.PERIODIC):
            self._begin(trigger, now)
        with self.changed:
            is_idle = self._gate is not None and self.failure is None and self._flight.pending is None
            if not is_idle or self._rules.pace.is_free_running:
                return None
            return max(self._due - self._clock.monotonic(), 0.0)

    def give_up(self, error: MilepostError) -> None:
        """The coordinator itself has failed: so must the job."""
        with self.changed:
            self.failure = error

    def is_drained(self) -> bool:
        """Return whether every checkpoint that Spark has committed is complete and told."""
        return not self._committed

    def is_settled(self) -> bool:
        """The same, and nothing is sealed that Spark may have committed without our having heard of it."""
        return not self._committed and self._sealed is None

    def observe(self, live: LiveBatch | None) -> None:
        """Take note of a running batch: who has acknowledged (step 5), and whether it takes too long."""
        with self.changed:
            # Of a batch that was declined the engine still says for a moment that it runs.
            if live is not None and self._gate is not None and self.failure is None:
                self._flight = self._flight.observe(live, self._moment())
            late, move = self._flight.pending, self._moves
            if late is None or not decide.is_expired(late, self._clock.monotonic()):
                return
            if self._sealed is not None:
                # Spark may commit it at any moment, so it is not aborted; whether it has is read when the job stops.
                if not self._committed and self._sealed.checkpoint_id == late.checkpoint_id:
                    uncommitted = failure.uncommitted(late.checkpoint_id, self._rules.timeout)
                    self.failure = self.failure or uncommitted
                return
        self._abort(failure.expired(late, self._rules.timeout), move)

    # ---- the engine's thread ----

    def seal(
        self, checkpoint_id: CheckpointId, report: SealReport, attempt: int | None = None
    ) -> Declined | None:
        """Step 6: every writer has acknowledged. Return None once it is sealed, or why it is declined.

        It belongs to the attempt of that number, or else to the one that runs now.
        """
        try:
            pending, move = self._begin_sealing(checkpoint_id, report, attempt)
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
                acknowledge=partial(self._acknowledge, move),
            )
            self._keep(pending, move, report, snapshot)
        except (OSError, MilepostError) as error:
            cause = failure.cause_of(error)
            self._abort(cause, move)
            return Declined(self.redact(str(cause.error)))
        return None

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Step 8 may begin: the engine is back at the gate, so Spark's commit log has the batch. Return at once."""
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
            self._flight = self._flight.begin(trigger, self._moment())
            self._requests.trigger()
            self._due = self._rules.pace.next(triggered_at=now, completed_at=now)
            move = self._moves
        try:
            if gate is not None:
                gate.open()
        except Exception as error:  # the engine's JVM may be gone
            self._abort(Cause(FailureReason.TRIGGER_CHECKPOINT_FAILURE, str(error)), move)

    def _is_wanted(self, trigger: Trigger, now: float) -> bool:
        if trigger in _ASKED_FOR:
            return self._requests.has(trigger)
        return not self._rules.pace.is_free_running and now >= self._due

    def _refused(self, trigger: Trigger, now: float) -> bool:
        refusal = decide.refuse_trigger(
            trigger,
            is_running=self._gate is not None,
            is_stopping=self.failure is not None,
            pending=int(self._flight.is_full),
            pause_ends=self._pause_ends,
            now=now,
        )
        # A trigger stays wanted while it is refused: what counts is a new reason, not every look.
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
            # In order: participants hear of the last one before they are asked for the next. And a replay may be
            # faster than the start of the attempt it belongs to.
            self.changed.wait_for(
                lambda: self.attempt != mine or (self._gate is not None and not self._committed),
                timeout=self._rules.timeout,
            )
            if self.attempt != mine or self._gate is None or self.failure is not None:
                raise failure.unsealable(checkpoint_id, "the attempt it belongs to does not run")
            if self._committed:
                raise failure.unsealable(checkpoint_id, "the one before it could not be completed in time")
            self._flight = self._flight.seal(checkpoint_id, report, self._moment())
            if self._flight.triggered is None:
                self._requests.seal()
            assert self._flight.running is not None  # `seal` has just put it there
            self._moves += 1
            return self._flight.running, self._moves

    def _acknowledge(self, move: int, ack: Acknowledgement) -> AckResult:
        result = AckResult.DISCARDED
        with self.changed:
            if self._moves == move:
                self._flight, result = self._flight.acknowledge(ack)
            self.stats.acknowledgements[result] += 1
        if result is not AckResult.SUCCESS:
            log.warning("The acknowledgement of %s was %s: %s", ack.participant, result.name, result.value)
        return result

    def _keep(self, pending: PendingCheckpoint, move: int, report: SealReport, snapshot: Snapshot) -> None:
        """Remember the sealed checkpoint; on disk where a death before step 8 would lose a state or a count."""
        with self.changed:
            self._require(move, pending)
            running = self._flight.running or pending
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
                states=snapshot.states,
                extra={**self._attachments.take(), **snapshot.extra},
                rejected=report.rejected,
                late=report.late,
                late_total=self.stats.late_total(report.late),
            )
        if sealed.states or sealed.extra or sealed.late:
            self._ledger.seal(sealed)
        with self.changed:
            # From here on it cannot be aborted any more, only Spark can still fail.
            self._require(move, pending)
            self._sealed = sealed
            self._moves += 1

    def _require(self, move: int, pending: PendingCheckpoint) -> None:
        if self._moves != move:
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
            # Spark's log is read again: no event, and no order of events, is proof.
            stored = self._ledger.committed(sealed)
            if stored is None:
                self._missed()
                return
            # A driver that was paused since its seal must not store over the one that has taken over.
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
        """Spark's log does not have what the engine said it has; while the job stops nobody has said so."""
        if self._gate is not None:
            why = "Spark's commit log has no whole entry of it"
            self._fail(Cause(FailureReason.FINALIZE_CHECKPOINT_FAILURE, why))

    def _finish(self, stored: CompletedCheckpoint) -> None:
        self._moves += 1
        self.stats.add(stored)
        self._flight = self._flight.completed(stored.checkpoint_id)
        self._failures_in_a_row = 0
        self._sealed = None
        self._pause_ends = self._clock.monotonic() + self._rules.pace.min_pause
        self._due = max(self._due, self._pause_ends)
        self._attachments.complete()

    def _tell_completed(self, stored: CompletedCheckpoint) -> None:
        notify(self._listeners, lambda listener: listener.completed(stored))
        try:
            self._participants.notify_complete(stored.checkpoint_id, timeout=self._rules.timeout)
        except MilepostError as error:
            # As in Flink: the checkpoint stands, the job fails.
            with self.changed:
                self.failure = error

    # ---- the end of one that fails ----

    def _abort(self, cause: Cause, move: int | None = None) -> None:
        """End the checkpoint in flight; its batch will be run again, so participants are told to roll back."""
        failed = self._fail(cause, move)
        if failed is not None:
            with self.changed:
                self._aborted.append(failed.checkpoint_id)
                self._wake()

    def _fail(self, cause: Cause, move: int | None = None) -> FailedCheckpoint | None:
        """End the checkpoint in flight, and tell no participant: Spark may have committed it (step 7).

        Then the next attempt resumes from it, and whoever had rolled back would lose what is in it. Nothing happens
        where a `move` is given that was not the last one.
        """
        with self.changed:
            pending = self._flight.pending
            if pending is None or move not in (None, self._moves):
                return None
            self._moves += 1
            self._flight, self._sealed = self._flight.aborted(), None
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
    """Do something on the way down, where a further failure must not hide the first."""
    try:
        action()
    except OSError as error:
        # The job fails of the same directory, and says so.
        log.info("While a checkpoint was aborted: %s", storage_error(error))
    except Exception:
        log.warning("While a checkpoint was aborted", exc_info=True)
