"""A stop with a savepoint, from the request to the end."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from milepost.checkpoint.model import Trigger
from milepost.checkpoint.requests import Request
from milepost.errors import CheckpointError, SavepointError
from milepost.job.status import JobStatus
from milepost.job.stop_with_savepoint import StopState, StopWithSavepoint


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
    stopping, coordinator, stood = stop(), Coordinator(), []
    stopping.begin(coordinator, lambda: stood.append(1))
    assert not stood
    coordinator.request.set_result("checkpoint 7")  # type: ignore[arg-type]
    assert stood == [1]


def test_a_job_without_pauses_stands_still_at_once():
    stopping, stood = stop(), []
    stopping.begin(Coordinator(is_free_running=True), lambda: stood.append(1))
    assert stood == [1]


def test_without_a_checkpoint_or_a_directory_nothing_stops():
    stopping, coordinator = stop(), Coordinator()
    stopping.begin(coordinator, lambda: pytest.fail("the job continues"))
    coordinator.request.set_exception(CheckpointError("declined"))
    assert "declined" in str(stopping.future.exception(0))
    stopping = stop(Savepoints(directory=None))
    stopping.begin(Coordinator(), lambda: pytest.fail("the job continues"))
    assert "no directory" in str(stopping.future.exception(0))


def test_the_answer_comes_when_the_job_has_finished():
    savepoints = Savepoints()
    stopping = stop(savepoints)
    assert stopping.advance() is StopState.WRITING
    savepoints.taking.set_result("savepoint")
    assert stopping.advance() is StopState.DONE
    assert not stopping.future.done()
    stopping.end(JobStatus.FINISHED)
    assert stopping.future.result(0) == "savepoint"


def test_where_the_savepoint_fails_the_job_goes_on():
    savepoints = Savepoints()
    stopping = stop(savepoints)
    savepoints.taking.set_exception(SavepointError("the disk is full"))
    assert stopping.advance() is StopState.FAILED
    assert "the disk is full" in str(stopping.future.exception(0))
    stopping.end(JobStatus.CANCELED)


def test_a_job_that_ends_otherwise_has_no_savepoint():
    stopping = stop()
    stopping.end(JobStatus.FAILED)
    assert "it is FAILED" in str(stopping.future.exception(0))
