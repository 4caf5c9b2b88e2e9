"""A stop that was asked for with a savepoint as its last act, from the request to the end of the job."""

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


class Closing(Enum):
    """How far it is."""

    WRITING = "the savepoint is being written"
    DONE = "the savepoint is whole"
    FAILED = "there is no savepoint, so the job goes on"


class StopWithSavepoint:
    """Takes the savepoint when the job stands at a boundary; its future has it when the job has finished."""

    def __init__(self, savepoints: Savepoints, directory: str | None) -> None:
        """Take nothing yet."""
        self.future: Future[Savepoint] = Future()
        self.future.set_running_or_notify_cancel()
        self._savepoints = savepoints
        self._directory = directory
        self._taking: Future[Savepoint] | None = None

    def begin(self, coordinator: CheckpointCoordinator, stand: Callable[[], None]) -> None:
        """Bring everything until now into a checkpoint, then let the job stand at its boundary."""
        try:
            self._savepoints.directory(self._directory)
        except SavepointError as error:
            self.future.set_exception(error)
            return
        if coordinator.is_free_running:
            stand()  # the batch that runs now has everything until now
            return

        def checkpointed(request: Future[CompletedCheckpoint]) -> None:
            if error := request.exception():
                self.future.set_exception(error)
            else:
                stand()

        coordinator.trigger(trigger=Trigger.SYNC_SAVEPOINT).add_done_callback(checkpointed)

    def advance(self) -> Closing:
        """Called again and again while the job stands at the boundary."""
        if self._taking is None:
            self._taking = self._savepoints.of_newest(self._directory)
        if not self._taking.done():
            return Closing.WRITING
        if error := self._taking.exception():
            self.future.set_exception(error)
            return Closing.FAILED
        return Closing.DONE

    def end(self, status: JobStatus) -> None:
        """The job is over, in this way or in another."""
        if self.future.done():
            return
        if status is JobStatus.FINISHED and self._taking is not None:
            self.future.set_result(self._taking.result())
            return
        self.future.set_exception(
            SavepointError(
                f"The job did not stop with a savepoint: it is {status.value}",
                why="it ended otherwise before the savepoint was whole",
                fix="Start it again: it resumes from its newest completed checkpoint",
            )
        )
