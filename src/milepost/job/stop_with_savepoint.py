"""Stop with savepoint: from the request until the job has ended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum

from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.model import CompletedCheckpoint, Trigger
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.take import Savepoints
from milepost.errors import SavepointError
from milepost.job.status import JobStatus


class StopState(Enum):
    """The state of the savepoint."""

    WRITING = "the savepoint is being written"
    DONE = "the savepoint is complete"
    FAILED = "there is no savepoint, so the job continues"


class StopWithSavepoint:
    """Takes a savepoint while the job is held at a boundary; the future returns it when the job has finished."""

    def __init__(self, savepoints: Savepoints, directory: str | None) -> None:
        self.future: Future[Savepoint] = Future()
        self.future.set_running_or_notify_cancel()
        self._savepoints = savepoints
        self._directory = directory
        self._savepoint: Future[Savepoint] | None = None

    def begin(self, coordinator: CheckpointCoordinator, hold_job: Callable[[], None]) -> None:
        """Trigger a checkpoint of everything read so far, then hold the job at its boundary."""
        try:
            self._savepoints.directory(self._directory)
        except SavepointError as error:
            self.future.set_exception(error)
            return
        if coordinator.is_free_running:
            hold_job()  # the running batch contains everything read so far
            return

        def hold_after_checkpoint(request: Future[CompletedCheckpoint]) -> None:
            if error := request.exception():
                self.future.set_exception(error)
            else:
                hold_job()

        coordinator.trigger(trigger=Trigger.SYNC_SAVEPOINT).add_done_callback(hold_after_checkpoint)

    def advance(self) -> StopState:
        """Start the savepoint, or return its state; called repeatedly while the job is held at the boundary."""
        if self._savepoint is None:
            self._savepoint = self._savepoints.of_newest(self._directory)
        if not self._savepoint.done():
            return StopState.WRITING
        if error := self._savepoint.exception():
            self.future.set_exception(error)
            return StopState.FAILED
        return StopState.DONE

    def end(self, status: JobStatus) -> None:
        """Resolve the future: the job has ended with this status."""
        if self.future.done():
            return
        if status is JobStatus.FINISHED and self._savepoint is not None:
            self.future.set_result(self._savepoint.result())
            return
        self.future.set_exception(
            SavepointError(
                f"The job did not stop with a savepoint: it is {status.value}",
                why="it ended before the savepoint was complete",
                fix="Start the job again: it resumes from its newest completed checkpoint",
            )
        )
