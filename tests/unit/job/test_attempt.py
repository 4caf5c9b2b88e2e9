"""How an attempt goes from one state to the next, with a query and an engine that do as they are told."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from milepost.checkpoint.model import FailureReason
from milepost.checkpoint.stats.failure import Cause
from milepost.errors import CheckpointError, MilepostError, TopicRecreatedError, UnknownTopicError
from milepost.job.attempt import Attempt
from milepost.job.status import JobStatus


class StubGate:
    """Counts what it is asked for; the engine is always back at it at once."""

    def __init__(self) -> None:
        self.held = False
        self.freed = False

    def free(self) -> None:
        self.freed = True

    def hold(self) -> None:
        self.held = True

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


class StubCoordinator:
    """Takes note of how it is driven; fails when it is told to."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.failure: MilepostError | None = None
        self.events: list[str] = []
        self.fails_at_the_end: MilepostError | None = None

    def start(self, _gate: StubGate, _restored: object) -> None:
        self.events.append("start")

    def observe(self, _live: object) -> None:
        pass

    def is_drained(self) -> bool:
        return True

    def stop(self, cause: Cause) -> None:
        self.events.append(cause.reason.name)
        self.failure = self.failure or self.fails_at_the_end


@pytest.fixture
def coordinator() -> StubCoordinator:
    return StubCoordinator()


@pytest.fixture
def job(query: StubQuery, engine: StubEngine, coordinator: StubCoordinator) -> Attempt:
    stubs: Any = (query, engine, coordinator)
    return Attempt(*stubs, restored=None, log=Path("log"))


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


UNKNOWN = "UnknownTopicOrPartitionException: This server does not host this topic-partition."


def test_a_topic_that_is_gone_is_asked_for_by_its_name(
    job: Attempt, query: StubQuery, coordinator: StubCoordinator
):
    job.topic_fault = lambda: "topic orders was deleted"
    query.fail(UNKNOWN)
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, TopicRecreatedError)
    assert "Topic orders was deleted" in str(job.error)
    assert not job.error.retryable
    assert coordinator.events == ["TASK_FAILURE"]


def test_a_topic_that_is_unknown_for_a_moment_is_tried_again(job: Attempt, query: StubQuery):
    query.fail(UNKNOWN)
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, UnknownTopicError)
    assert job.error.retryable


def test_kafka_is_not_asked_about_other_failures(job: Attempt, query: StubQuery):
    job.topic_fault = lambda: pytest.fail("nobody asked")
    query.fail("it broke")
    assert job.wait() is JobStatus.FAILED


def test_a_query_that_ends_by_itself_without_a_reason_is_a_failure(job: Attempt, query: StubQuery):
    query.stop()
    assert job.wait() is JobStatus.FAILED


def test_what_the_coordinator_fails_of_ends_the_query_and_is_the_reason(
    job: Attempt, query: StubQuery, coordinator: StubCoordinator
):
    coordinator.failure = CheckpointError("Checkpoint 7 failed (CHECKPOINT_EXPIRED)")
    assert job.wait() is JobStatus.FAILED
    assert "CHECKPOINT_EXPIRED" in str(job.error)
    assert not query.isActive


def test_of_a_declined_checkpoint_the_coordinator_knows_more_than_spark(
    job: Attempt, query: StubQuery, coordinator: StubCoordinator
):
    query.fail("MILEPOST_DECLINED Checkpoint 7: no")
    coordinator.fails_at_the_end = CheckpointError("the ledger does not balance")
    assert job.wait() is JobStatus.FAILED
    assert job.error is coordinator.failure


def test_a_listener_that_fails_of_the_last_checkpoint_fails_the_job(
    job: Attempt, engine: StubEngine, coordinator: StubCoordinator
):
    engine.finished = True
    coordinator.fails_at_the_end = CheckpointError("the ledger is closed")
    assert job.wait() is JobStatus.FAILED


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("finish", FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN),
        ("stop", FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN),
        ("abandon", FailureReason.CHECKPOINT_COORDINATOR_SUSPEND),
        ("fail", FailureReason.TASK_FAILURE),
    ],
)
def test_the_coordinator_starts_and_stops_with_the_job(
    job: Attempt,
    query: StubQuery,
    engine: StubEngine,
    coordinator: StubCoordinator,
    end: str,
    reason: FailureReason,
):
    job.run()
    engine.finished = end == "finish"
    if end == "stop":
        job.stop()
    if end == "fail":
        query.fail("it broke")
    if end == "abandon":
        job.abandon()
    else:
        job.wait()
    assert coordinator.events == ["start", reason.name]


def test_interval_zero_leaves_the_gate_open(job: Attempt, engine: StubEngine):
    job.run_free()
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
