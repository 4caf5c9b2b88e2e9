"""A stop with a savepoint, from the request to the end."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from milepost.checkpoint.model import Trigger
from milepost.checkpoint.requests import Request
from milepost.errors import CheckpointError, SavepointError
from milepost.job.status import JobStatus
from milepost.job.stop_with_savepoint import Closing, StopWithSavepoint


class Savepoints:
    def __init__(self, directory: str | None = "/savepoints") -> None:
        self.taking: Future[Any] = Future()
        self._directory = directory

    def directory(self, directory: str | None) -> str:
        if self._directory is None:
            raise SavepointError("There is no directory")
        return self._directory

    def of_newest(self, _directory: str | None) -> Future[Any]:
        return self.taking


class Coordinator:
    def __init__(self, *, is_free_running: bool = False) -> None:
        self.is_free_running = is_free_running
        self.request = Request()

    def trigger(self, *, trigger: Trigger) -> Request:
        assert trigger is Trigger.SYNC_SAVEPOINT
        return self.request


def stop(savepoints: Any = None) -> Any:
    chosen: Any = savepoints or Savepoints()
    return StopWithSavepoint(chosen, None)


def test_the_job_stands_still_after_a_last_checkpoint():
    closing, coordinator, stood = stop(), Coordinator(), []
    closing.begin(coordinator, lambda: stood.append(1))
    assert not stood
    coordinator.request.set_result("checkpoint 7")  # type: ignore[arg-type]
    assert stood == [1]


def test_a_job_without_pauses_stands_still_at_once():
    closing, stood = stop(), []
    closing.begin(Coordinator(is_free_running=True), lambda: stood.append(1))
    assert stood == [1]


def test_without_a_checkpoint_or_a_directory_nothing_stops():
    closing, coordinator = stop(), Coordinator()
    closing.begin(coordinator, lambda: pytest.fail("the job goes on"))
    coordinator.request.set_exception(CheckpointError("declined"))
    assert "declined" in str(closing.future.exception(0))
    closing = stop(Savepoints(directory=None))
    closing.begin(Coordinator(), lambda: pytest.fail("the job goes on"))
    assert "no directory" in str(closing.future.exception(0))


def test_the_answer_comes_when_the_job_has_finished():
    savepoints = Savepoints()
    closing = stop(savepoints)
    assert closing.advance() is Closing.WRITING
    savepoints.taking.set_result("savepoint")
    assert closing.advance() is Closing.DONE
    assert not closing.future.done()
    closing.end(JobStatus.FINISHED)
    assert closing.future.result(0) == "savepoint"


def test_where_the_savepoint_fails_the_job_goes_on():
    savepoints = Savepoints()
    closing = stop(savepoints)
    savepoints.taking.set_exception(SavepointError("the disk is full"))
    assert closing.advance() is Closing.FAILED
    assert "the disk is full" in str(closing.future.exception(0))
    closing.end(JobStatus.CANCELED)


def test_a_job_that_ends_otherwise_has_no_savepoint():
    closing = stop()
    closing.end(JobStatus.FAILED)
    assert "it is FAILED" in str(closing.future.exception(0))
