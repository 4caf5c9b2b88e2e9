"""One attempt at running a pipeline: watches its query and its checkpoints, stops it at a boundary."""

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
from milepost.job.status import JobStatus, may_move
from milepost.job.stop_with_savepoint import Closing, StopWithSavepoint

_LOOK_EVERY = 0.25
_ENGINE_WAIT_MS = 500
_DRAIN_TIMEOUT = 60.0


class Attempt:
    """From one start to its end. `wait` drives it there; `stop` may be called from any thread or signal handler."""

    def __init__(
        self,
        query: StreamingQuery,
        engine: Any,
        coordinator: CheckpointCoordinator,
        *,
        restored: CompletedCheckpoint | None,
        log: Path,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Take over a query that has just been started behind a closed gate; `engine` is its Java side."""
        self.job_id: str = engine.id()
        self.log = log
        self.status = JobStatus.RUNNING
        self.error: MilepostError | None = None
        self.topic_fault: Callable[[], str | None] = lambda: None
        """Asks Kafka which topic is not the one that the attempt began with."""
        self._query = query
        self._engine = engine
        self._coordinator = coordinator
        self._restored = restored
        self._at_end = at_end
        self._stopping = threading.Event()
        self._closing: StopWithSavepoint | None = None

    def run(self) -> None:
        """Let checkpoints begin."""
        self._coordinator.start(self._engine.gate(), self._restored)

    def run_free(self) -> None:
        """Let one batch follow the other, each a checkpoint."""
        self._engine.gate().free()
        self.run()

    def progress(self) -> Progress:
        """Return where the job stands now."""
        return parse_progress(self._engine.status(), Clock().now())

    def stop(self) -> None:
        """Ask for a stop at the next boundary: the running batch completes, nothing begins after it."""
        self._stopping.set()

    def stop_with(self, closing: StopWithSavepoint) -> None:
        """Ask for a stop at the next boundary, with a savepoint as the last act."""
        self._closing = closing

    def wait(self, look: Callable[[Progress], None] = lambda _: None) -> JobStatus:
        """Drive the job to its end and return how it ended; `look` is called a few times a second."""
        while not self.status.is_terminal:
            progress = self.progress()
            self._coordinator.observe(progress.live_batch())
            self._advance()
            look(progress)
            if not self.status.is_terminal:
                self._stopping.wait(_LOOK_EVERY)
        look(self.progress())
        self._at_end()
        return self.status

    def abandon(self) -> None:
        """Stop at once, in the middle of a batch: the next start replays it."""
        self._stopping.set()
        self._engine.gate().hold()
        if self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if not self.status.is_terminal:
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SUSPEND)
        self._at_end()

    def _advance(self) -> None:
        if not self._query.isActive:
            self._ended()
        elif self._coordinator.failure is not None:
            self.error = self._coordinator.failure
            self._end(JobStatus.FAILED, FailureReason.TASK_FAILURE)
        elif self._engine.isFinished():
            if self._park():
                self._end(JobStatus.FINISHED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)
        elif self._stopping.is_set():
            self._cancel()
        elif self._closing is not None:
            self._close(self._closing)

    def _cancel(self) -> None:
        if self.status is JobStatus.RUNNING:
            self._move(JobStatus.CANCELLING)
        if self._park():
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)

    def _close(self, closing: StopWithSavepoint) -> None:
        """Stand at the boundary until the savepoint is whole, then end; go on where it fails."""
        if not self._park() or not self._coordinator.is_settled():
            return
        state = closing.advance()
        if state is Closing.DONE:
            self._end(JobStatus.FINISHED, FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)
        elif state is Closing.FAILED:
            self._closing = None
            self._engine.gate().release()

    def _park(self) -> bool:
        """Hold the gate and return whether the engine stands at it."""
        self._engine.gate().hold()
        return bool(self._engine.gate().awaitParked(_ENGINE_WAIT_MS))

    def _end(self, status: JobStatus, reason: FailureReason) -> None:
        """Let what is committed complete, and nothing else; then stop the query."""
        self._drain()
        self._query.stop()
        self._coordinator.stop(Cause(reason))
        if self._coordinator.failure is not None and status is not JobStatus.CANCELED:
            # A listener may have failed of the very last checkpoint.
            self.error = self.error or self._coordinator.failure
            status = JobStatus.FAILED
        self._move(status)

    def _drain(self) -> None:
        coordinator = self._coordinator
        with coordinator.changed:
            coordinator.changed.wait_for(coordinator.is_drained, timeout=_DRAIN_TIMEOUT)

    def _ended(self) -> None:
        """The query is over by itself: it failed, or somebody else stopped it."""
        failure = self._query._jsq.exception()  # noqa: SLF001 - the Python wrapper loses the chain of causes
        messages = list(causes(failure.get())) if failure.isDefined() else []
        if not messages and self.status is JobStatus.CANCELLING:
            self._end(JobStatus.CANCELED, FailureReason.CHECKPOINT_COORDINATOR_SUSPEND)
            return
        error: JobFailedError = explain(messages, self.log)
        if isinstance(error, UnknownTopicError) and (fault := self.topic_fault()):
            error = recreated(fault)
        self._coordinator.stop(cause_of_task(error))
        # What the coordinator declined it knows best; Spark only repeats it.
        self.error = self._coordinator.failure or error
        self._move(JobStatus.FAILED)

    def _move(self, target: JobStatus) -> None:
        if not may_move(self.status, target):
            raise AssertionError(f"a job cannot go from {self.status.value} to {target.value}")
        self.status = target
        if target.is_terminal:
            self._stopping.set()
            if self._closing is not None:
                self._closing.end(target)


def messages_of(error: Py4JJavaError | PySparkException) -> list[str]:
    """Return what an error of a call to Spark says, and its causes where they are known, outermost first."""
    if isinstance(error, Py4JJavaError):
        return list(causes(error.java_exception))
    return [error.getMessage() or str(error)]


def causes(failure: Any) -> Iterator[str]:
    """Yield the messages of a Java exception and its causes, outermost first."""
    cause, seen = failure, 0
    while cause is not None and seen < 20:  # a chain of causes may be a ring
        yield f"{cause.getClass().getName()}: {cause.getMessage()}"
        cause, seen = cause.getCause(), seen + 1
