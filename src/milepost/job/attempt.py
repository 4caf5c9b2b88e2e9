"""One attempt at running a pipeline: watches its query and checkpoints, and stops it at a checkpoint boundary."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.model import CompletedCheckpoint, FailureReason
from milepost.checkpoint.stats.failure import Cause, cause_of_task, recreated
from milepost.errors import JobFailedError, MilepostError, UnknownTopicError
from milepost.job.failure import explain
from milepost.job.monitoring.progress import Progress, parse_progress
from milepost.job.status import JobStatus, transition
from milepost.job.stop_with_savepoint import StopState, StopWithSavepoint

_POLL_INTERVAL = 0.25
_ENGINE_WAIT_MS = 500
_DRAIN_TIMEOUT = 60.0


class Attempt:
    """A started query until its end. `wait` drives it; `stop` may be called from any thread or signal handler."""

    def __init__(
        self,
        query: StreamingQuery,
        engine: Any,
        coordinator: CheckpointCoordinator,
        *,
        restored: CompletedCheckpoint | None,
        log: Path,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over a query that was started behind a closed gate; `engine` is its Java side."""
        self.job_id: str = engine.id()
        self.log = log
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.topic_fault: Callable[[], str | None] = lambda: None
        """Asks Kafka which topic is gone or replaced since the start of the attempt; None if there is none."""
        self._query = query
        self._engine = engine
        self._coordinator = coordinator
        self._restored = restored
        self._on_end = on_end
        self._stopping = threading.Event()
        self._savepoint_stop: StopWithSavepoint | None = None

    def run(self) -> None:
        """Start triggering checkpoints."""
        self._coordinator.start(self._engine.gate(), self._restored)

    def run_free(self) -> None:
        """Run batches back to back; each is a checkpoint."""
        self._engine.gate().free()
        self.run()

    def progress(self) -> Progress:
        """Return the current progress, without totals of the checkpoints."""
        return parse_progress(self._engine.status(), Clock().now())

    def stop(self) -> None:
        """Request a stop at the next checkpoint boundary: the running batch completes, and no other starts."""
        self._stopping.set()

    def stop_with_savepoint(self, stop: StopWithSavepoint) -> None:
        """Request a stop at the next checkpoint boundary, after a savepoint."""
        self._savepoint_stop = stop

    def wait(self, on_progress: Callable[[Progress], None] = lambda _: None) -> JobStatus:
        """Drive the attempt to its end and return its final status; `on_progress` is called several times a second."""
        while not self.status.is_terminal:
            progress = self.progress()
            self._coordinator.observe(progress.live_batch())
            self._advance()
            on_progress(progress)
            if not self.status.is_terminal:
                self._stopping.wait(_POLL_INTERVAL)
        on_progress(self.progress())
        self._on_end()
        return self.status

    def abandon(self) -> None:
        """Stop immediately, in the middle of a batch; the next start replays the batch."""
        self._stopping.set()
        self._engine.gate().hold()
        if self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if not self.status.is_terminal:
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SUSPEND)
        self._on_end()

    def _advance(self) -> None:
        if not self._query.isActive:
            self._handle_query_end()
        elif self._coordinator.failure is not None:
            self.error = self._coordinator.failure
            self._end(JobStatus.FAILED, FailureReason.TASK_FAILURE)
        elif self._engine.isFinished():
            if self._park():
                self._end(JobStatus.FINISHED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)
        elif self._stopping.is_set():
            self._cancel()
        elif self._savepoint_stop is not None:
            self._advance_stop(self._savepoint_stop)

    def _cancel(self) -> None:
        if self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if self._park():
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)

    def _advance_stop(self, stop: StopWithSavepoint) -> None:
        """Hold the engine at the boundary until the savepoint is complete, then end; continue if it fails."""
        if not self._park() or not self._coordinator.is_settled():
            return
        state = stop.advance()
        if state is StopState.DONE:
            self._end(JobStatus.FINISHED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)
        elif state is StopState.FAILED:
            self._savepoint_stop = None
            self._engine.gate().release()

    def _park(self) -> bool:
        """Hold the gate; return whether the engine waits at it."""
        self._engine.gate().hold()
        return bool(self._engine.gate().awaitParked(_ENGINE_WAIT_MS))

    def _end(self, status: JobStatus, reason: FailureReason) -> None:
        """Complete the committed checkpoints, then stop the query."""
        self._await_completion()
        self._query.stop()
        self._coordinator.stop(Cause(reason))
        if self._coordinator.failure is not None and status is not JobStatus.CANCELED:
            # A listener may have failed on the last checkpoint.
            self.error = self.error or self._coordinator.failure
            status = JobStatus.FAILED
        self._move(status)

    def _await_completion(self) -> None:
        coordinator = self._coordinator
        with coordinator.changed:
            coordinator.changed.wait_for(coordinator.is_drained, timeout=_DRAIN_TIMEOUT)

    def _handle_query_end(self) -> None:
        """Handle a query that ended without a request: it failed, or something else stopped it."""
        failure = self._query._jsq.exception()  # noqa: SLF001 - the Python wrapper loses the chain of causes
        messages = list(cause_messages(failure.get())) if failure.isDefined() else []
        if not messages and self.status is JobStatus.CANCELLING:
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SUSPEND)
            return
        error: JobFailedError = explain(messages, self.log)
        if isinstance(error, UnknownTopicError) and (fault := self.topic_fault()):
            error = recreated(fault)
        self._coordinator.stop(cause_of_task(error))
        # The coordinator's own error is more precise: Spark only repeats it.
        self.error = self._coordinator.failure or error
        self._move(JobStatus.FAILED)

    def _move(self, target: JobStatus) -> None:
        self.status = transition(self.status, target)
        if target.is_terminal:
            self._stopping.set()
            if self._savepoint_stop is not None:
                self._savepoint_stop.end(target)


def error_messages(error: Py4JJavaError | PySparkException) -> list[str]:
    """Return the messages of a Spark error and of its known causes, outermost first."""
    if isinstance(error, Py4JJavaError):
        return list(cause_messages(error.java_exception))
    return [error.getMessage() or str(error)]


def cause_messages(failure: Any) -> Iterator[str]:
    """Yield the messages of a Java exception and its causes, outermost first."""
    cause, depth = failure, 0
    while cause is not None and depth < 20:  # a chain of causes may be circular
        yield f"{cause.getClass().getName()}: {cause.getMessage()}"
        cause, depth = cause.getCause(), depth + 1
