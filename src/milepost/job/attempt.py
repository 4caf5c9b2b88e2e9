"""One attempt at running a pipeline: triggers its checkpoints, watches its query, stops it at a boundary."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from milepost.errors import JobFailedError
from milepost.job.failure import explain
from milepost.job.pace import Pace
from milepost.job.progress import Progress, parse_progress
from milepost.job.status import JobStatus, may_move

_LOOK_EVERY = 0.25
_ENGINE_WAIT_MS = 500


class Attempt:
    """From one start to its end. `wait` drives it there; `stop` may be called from any thread or signal handler."""

    def __init__(
        self,
        query: StreamingQuery,
        engine: Any,
        *,
        pace: Pace,
        timeout: float,
        log: Path,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over a query that has just been started behind a closed gate; `engine` is its Java side."""
        self.job_id: str = engine.id()
        self.log = log
        self.status = JobStatus.RUNNING
        self.error: JobFailedError | None = None
        self._query = query
        self._engine = engine
        self._pace = pace
        self._timeout = timeout
        self._at_end = at_end
        self._in_flight: tuple[int | None, float] = (None, 0.0)
        self._stopping = threading.Event()
        self._trigger = threading.Thread(
            target=self._trigger_checkpoints, name="checkpoint-trigger", daemon=True
        )

    def run(self) -> None:
        """Let the first checkpoint through and go on at the pace of the configuration."""
        if self._pace.is_free_running:
            self._engine.gate().free()
        else:
            self._trigger.start()

    def progress(self) -> Progress:
        """Return where the job stands now."""
        return parse_progress(self._engine.status())

    def stop(self) -> None:
        """Ask for a stop at the next boundary: the running batch completes, nothing begins after it."""
        self._stopping.set()

    def wait(self, look: Callable[[Progress], None] = lambda _: None) -> JobStatus:
        """Drive the job to its end and return how it ended; `look` is called a few times a second."""
        while not self.status.is_terminal:
            self._advance()
            look(self.progress())
            if not self.status.is_terminal:
                self._stopping.wait(_LOOK_EVERY)
        self._join_trigger()
        self._at_end()
        return self.status

    def abandon(self) -> None:
        """Stop at once, in the middle of a batch: the next start replays it."""
        self._stopping.set()
        self._engine.gate().hold()
        self._query.stop()
        if self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if not self.status.is_terminal:
            self._move(JobStatus.CANCELED)
        self._join_trigger()
        self._at_end()

    def _advance(self) -> None:
        if not self._query.isActive:
            self._ended()
        elif self._has_expired():
            self._query.stop()
            self.error = JobFailedError(
                f"Checkpoint {self._in_flight[0]} expired before completing",
                why=f"its batch ran longer than {self._timeout:g} s",
                fix=f"Check HBase and the transformation, or raise checkpointing.timeout. Details: {self.log}",
            )
            self._move(JobStatus.FAILED)
        elif self._engine.isFinished():
            if self._park():
                self._query.stop()
                self._move(JobStatus.FINISHED)
        elif self._stopping.is_set():
            if self.status is JobStatus.RUNNING:
                self._move(JobStatus.CANCELLING)
            if self._park():
                self._query.stop()
                self._move(JobStatus.CANCELED)

    def _has_expired(self) -> bool:
        """Return whether the batch that runs now has been running for too long."""
        progress, now = self.progress(), time.monotonic()
        running = progress.running_batch
        if running is None or running == progress.checkpoint_id:
            return False
        if self._in_flight[0] != running:
            self._in_flight = (running, now)
        return now - self._in_flight[1] > self._timeout

    def _park(self) -> bool:
        """Hold the gate and return whether the engine stands at it."""
        self._engine.gate().hold()
        return bool(self._engine.gate().awaitParked(_ENGINE_WAIT_MS))

    def _ended(self) -> None:
        failure = self._query._jsq.exception()  # noqa: SLF001 - the Python wrapper loses the chain of causes
        messages = list(causes(failure.get())) if failure.isDefined() else []
        if not messages and self.status is JobStatus.CANCELLING:
            self._move(JobStatus.CANCELED)
            return
        self.error = explain(messages, self.log)
        self._move(JobStatus.FAILED)

    def _move(self, target: JobStatus) -> None:
        if not may_move(self.status, target):
            raise AssertionError(f"a job cannot go from {self.status.value} to {target.value}")
        self.status = target
        if target.is_terminal:
            self._stopping.set()

    def _join_trigger(self) -> None:
        """Wait for the trigger's last call into the engine, whose JVM may end after this."""
        if self._trigger.is_alive():
            self._trigger.join(timeout=10 * _ENGINE_WAIT_MS / 1000)

    def _trigger_checkpoints(self) -> None:
        """Open the gate whenever a checkpoint is due, one after the other (step 1)."""
        due = self._pace.first(time.monotonic())
        while not self._stopping.wait(max(due - time.monotonic(), 0)):
            triggered_at = time.monotonic()
            self._engine.gate().open()
            while not self._stopping.is_set() and not self._engine.gate().awaitIdle(_ENGINE_WAIT_MS):
                continue
            due = self._pace.next(triggered_at=triggered_at, completed_at=time.monotonic())


def causes(failure: Any) -> Iterator[str]:
    """Yield the messages of a Java exception and its causes, outermost first."""
    cause, seen = failure, 0
    while cause is not None and seen < 20:  # a chain of causes may be a ring
        yield f"{cause.getClass().getName()}: {cause.getMessage()}"
        cause, seen = cause.getCause(), seen + 1
