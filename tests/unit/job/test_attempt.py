"""How an attempt goes from one state to the next, with a query and an engine that do as they are told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from milepost.job.attempt import Attempt
from milepost.job.pace import Pace
from milepost.job.status import JobStatus


class StubGate:
    """Counts what it is asked for; the engine is always back at it at once."""

    def __init__(self) -> None:
        self.opened = threading.Semaphore(0)
        self.held = False
        self.freed = False

    def open(self) -> None:
        self.opened.release()

    def free(self) -> None:
        self.freed = True

    def hold(self) -> None:
        self.held = True

    def awaitIdle(self, _timeout: int) -> bool:
        return True

    def awaitParked(self, _timeout: int) -> bool:
        return self.held


class StubEngine:
    def __init__(self) -> None:
        self.stub_gate = StubGate()
        self.finished = False
        self.running = -1

    def id(self) -> str:
        return "job"

    def gate(self) -> StubGate:
        return self.stub_gate

    def isFinished(self) -> bool:
        return self.finished

    def status(self) -> str:
        return json.dumps(
            {"sealed": -1, "running": self.running, "tasks": 0, "acknowledged": 0, "finished": self.finished}
            | {"positions": [], "totals": {}, "rejected": {}}
        )


class StubCause:
    def __init__(self, message: str) -> None:
        self._message = message

    def getClass(self) -> StubCause:
        return self

    def getName(self) -> str:
        return "java.lang.RuntimeException"

    def getMessage(self) -> str:
        return self._message

    def getCause(self) -> None:
        return None


class StubQuery:
    def __init__(self) -> None:
        self.isActive = True
        self._failure: StubCause | None = None
        self._jsq = self

    def fail(self, message: str) -> None:
        self._failure, self.isActive = StubCause(message), False

    def stop(self) -> None:
        self.isActive = False

    def exception(self) -> StubQuery:
        return self

    def isDefined(self) -> bool:
        return self._failure is not None

    def get(self) -> StubCause | None:
        return self._failure


@pytest.fixture
def query() -> StubQuery:
    return StubQuery()


@pytest.fixture
def engine() -> StubEngine:
    return StubEngine()


@pytest.fixture
def job(query: StubQuery, engine: StubEngine) -> Iterator[Attempt]:
    job = Attempt(query, engine, pace=Pace(0.001, 0), timeout=3600, log=Path("log"))  # type: ignore[arg-type]
    yield job
    job.stop()


def test_stop_holds_the_gate_and_ends_the_query_there(job: Attempt, query: StubQuery, engine: StubEngine):
    job.stop()
    assert job.wait() is JobStatus.CANCELED
    assert engine.stub_gate.held
    assert not query.isActive


def test_a_bounded_job_finishes(job: Attempt, engine: StubEngine):
    engine.finished = True
    assert job.wait() is JobStatus.FINISHED
    assert job.error is None


def test_a_failed_query_fails_the_job_with_its_reason(job: Attempt, query: StubQuery):
    query.fail("it broke")
    assert job.wait() is JobStatus.FAILED
    assert job.error is not None
    assert "it broke" in str(job.error)


def test_a_query_that_ends_by_itself_without_a_reason_is_a_failure(job: Attempt, query: StubQuery):
    query.stop()
    assert job.wait() is JobStatus.FAILED


def test_a_batch_that_takes_too_long_expires(query: StubQuery, engine: StubEngine):
    engine.running = 7
    job = Attempt(query, engine, pace=Pace(1, 0), timeout=0, log=Path("log"))  # type: ignore[arg-type]
    assert job.wait() is JobStatus.FAILED
    assert "Checkpoint 7 expired" in str(job.error)


def test_checkpoints_are_triggered_again_and_again(job: Attempt, engine: StubEngine):
    job.run()
    for _ in range(3):
        assert engine.stub_gate.opened.acquire(timeout=10)


def test_interval_zero_leaves_the_gate_open(query: StubQuery, engine: StubEngine):
    Attempt(query, engine, pace=Pace(0, 0), timeout=1, log=Path("log")).run()  # type: ignore[arg-type]
    assert engine.stub_gate.freed


def test_progress_is_shown_until_the_end(job: Attempt):
    looks: list[Any] = []

    def look(progress: Any) -> None:
        looks.append(progress)
        job.stop()

    job.wait(look)
    assert looks


def test_abandon_does_not_wait_for_a_boundary(job: Attempt, query: StubQuery):
    job.abandon()
    assert job.status is JobStatus.CANCELED
    assert not query.isActive
