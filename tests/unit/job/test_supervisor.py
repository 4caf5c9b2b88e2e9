"""A job from failure to failure, with attempts that end as they are told."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.rest.asgi import ack, completed

from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.remote import RemoteStore
from milepost.checkpoint.store.store import LocalStore
from milepost.config import ExponentialDelay, FailureRate, FixedDelay, NoRestart, Restart
from milepost.errors import (
    FatalJobError,
    JobFailedError,
    MilepostError,
    NotReachableError,
    PreflightError,
    SavepointError,
)
from milepost.job import restart
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job, Restarts


class StubAttempt:
    """An attempt that ends at once: finished, cancelled, or failed of an error. It completes one checkpoint."""

    job_id = "job"
    log = Path("log")

    def __init__(self, status: JobStatus, error: MilepostError | None = None, rows: int = 10) -> None:
        self.status = status
        self.error = error
        self._rows = rows
        self.stats: CheckpointStats | None = None

    def progress(self) -> Progress:
        return Progress(
            checkpoint_id=None,
            running_batch=None,
            tasks=0,
            acknowledged=0,
            finished=False,
        )

    def wait(self, on_progress: Callable[[Progress], None]) -> JobStatus:
        assert self.stats is not None
        self.stats.add(completed(len(self.stats.history), ack("writer/0", rows=self._rows)))
        on_progress(self.progress())
        return self.status

    def stop(self) -> None:
        pass

    def abandon(self) -> None:
        self.status = JobStatus.CANCELED


FAILED = StubAttempt(JobStatus.FAILED, JobFailedError("it broke"))
FINISHED = StubAttempt(JobStatus.FINISHED)
ENDED: list[int] = []
TWICE = restart.FixedDelay(2, 0)


class StubCoordinator:
    """Bears that many failed checkpoints."""

    def __init__(self, tolerable: int) -> None:
        self._left = tolerable
        self.changed = threading.Condition()
        self.stats = CheckpointStats()

    def redact(self, text: str) -> str:
        return text.replace("hunter2", "******")

    @property
    def is_tolerable(self) -> bool:
        self._left -= 1
        return self._left >= 0


class StubSavepoints:
    """Notes where savepoints are asked for; nothing can be drained."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def trigger(self, directory: str | None) -> Future[Savepoint]:
        self.asked.append(directory)
        return Future()

    def refuse_drain(self) -> SavepointError:
        return SavepointError("The job cannot be drained")


def job(
    *attempts: StubAttempt | MilepostError,
    strategy: restart.RestartStrategy = TWICE,
    tolerable: int = 0,
    history: History | None = None,
) -> Job:
    first, *others = attempts
    rest = iter(others)

    def next_attempt() -> StubAttempt:
        each = next(rest)
        if isinstance(each, MilepostError):
            raise each
        return each

    stubs: Any = (first, Restarts(next_attempt, strategy))  # type: ignore[arg-type]
    coordinator: Any = StubCoordinator(tolerable)
    for each in attempts:
        if isinstance(each, StubAttempt):
            each.stats = coordinator.stats
    return Job(
        *stubs,
        coordinator=coordinator,
        history=history or History(RemoteStore.at(f"memory://{uuid.uuid4().hex}")),
        savepoints=StubSavepoints(),  # type: ignore[arg-type]
        at_end=lambda _status: ENDED.append(1),
    )


@pytest.mark.parametrize(
    ("attempts", "status", "restarts"),
    [
        ([FINISHED], JobStatus.FINISHED, 0),
        ([FAILED, FINISHED], JobStatus.FINISHED, 1),
        ([FAILED, FAILED, FINISHED], JobStatus.FINISHED, 2),
        ([FAILED, FAILED, FAILED], JobStatus.FAILED, 2),
        ([FAILED, NotReachableError("HBase is away"), FINISHED], JobStatus.FINISHED, 2),
        ([FAILED, NotReachableError("away"), NotReachableError("away")], JobStatus.FAILED, 2),
        ([FAILED, PreflightError("the table is gone")], JobStatus.FAILED, 1),
        ([StubAttempt(JobStatus.FAILED, FatalJobError("bad record"))], JobStatus.FAILED, 0),
        ([FAILED, StubAttempt(JobStatus.CANCELED)], JobStatus.CANCELED, 1),
    ],
)
def test_how_a_job_ends(attempts: list[StubAttempt | MilepostError], status: JobStatus, restarts: int):
    running = job(*attempts)
    assert running.wait() is status
    assert running.restarts == restarts
    assert (running.error is not None) == (status is JobStatus.FAILED)


@pytest.mark.parametrize("attempts", [[FINISHED], [FAILED, FAILED, FAILED], [FAILED, PreflightError("gone")]])
def test_what_the_job_holds_is_let_go_once(attempts: list[StubAttempt | MilepostError]):
    ENDED.clear()
    job(*attempts).wait()
    assert ENDED == [1]


def test_without_a_strategy_the_first_failure_is_the_last():
    running = job(FAILED, strategy=restart.NoRestart())
    assert running.wait() is JobStatus.FAILED
    assert str(running.error) == str(FAILED.error)


def test_secrets_are_masked_in_what_is_told_at_a_restart_and_at_the_end():
    leaking = StubAttempt(JobStatus.FAILED, JobFailedError("login failed", why="password hunter2"))
    told: list[str] = []
    running = job(leaking, leaking, strategy=restart.FixedDelay(1, 0))
    running.wait(on_restart=lambda error, _delay: told.append(str(error)))
    assert told == ["login failed. Password ******."]
    assert str(running.error) == told[0]


def test_counts_go_on_over_attempts():
    running = job(FAILED, FINISHED)
    looks: list[int] = []
    running.wait(lambda progress: looks.append(progress.rows))
    assert looks == [10, 20]
    assert running.progress().rows == 20


def test_a_failed_job_counts_its_rows_once():
    running = job(FAILED, strategy=restart.NoRestart())
    running.wait()
    assert (running.progress().rows, running.latest_progress and running.latest_progress.rows) == (10, 10)


def test_while_a_job_waits_for_its_restart_its_rows_count_once():
    running = job(FAILED, NotReachableError("away"), FINISHED)
    waiting: list[int] = []
    running.wait(on_restart=lambda _error, _delay: waiting.append(running.progress().rows))
    assert waiting == [10, 10]


def test_every_restart_counts_and_the_history_tells_as_many():
    history = History(RemoteStore.at(f"memory://{uuid.uuid4().hex}"))
    away = [NotReachableError(f"away {number}") for number in range(1, 9)]
    running = job(FAILED, *away, FINISHED, strategy=restart.FixedDelay(9, 0), history=history)
    assert running.wait() is JobStatus.FINISHED
    told = [event for event in reversed(history.read()) if isinstance(event, JobEvent)]
    reasons = [event.detail for event in told if event.status == "RESTARTING"]
    assert running.restarts == len(reasons) == 9
    assert reasons == ["it broke", *(f"away {number}" for number in range(1, 9))]
    assert [entry.attempt for entry in history.exceptions()] == list(range(9, 0, -1))
    assert running.counters.times.completed[JobStatus.RESTARTING] <= sum_of_moves(told)


def sum_of_moves(told: list[JobEvent]) -> timedelta:
    return told[-1].at - told[0].at


def test_each_restart_is_told_with_its_reason_and_its_delay():
    told: list[tuple[str, float]] = []
    job(FAILED, FINISHED).wait(on_restart=lambda error, delay: told.append((error.what, delay)))
    assert told == [("it broke", 0)]


def test_a_job_that_waits_for_its_restart_can_be_stopped():
    running = job(FAILED, strategy=restart.FixedDelay(1, 3600))
    assert running.wait(on_restart=lambda _error, _delay: running.cancel()) is JobStatus.CANCELED


def test_abandon_ends_the_attempt_at_once():
    running = job(StubAttempt(JobStatus.RUNNING))
    running.abandon()
    assert running.status is JobStatus.CANCELED


@pytest.mark.parametrize(("tolerable", "status"), [(0, JobStatus.FAILED), (1, JobStatus.FINISHED)])
def test_a_tolerable_failed_checkpoint_does_not_ask_the_strategy(tolerable: int, status: JobStatus):
    assert job(FAILED, FINISHED, strategy=restart.NoRestart(), tolerable=tolerable).wait() is status


def test_what_happened_is_kept_in_the_history(tmp_path: Path):
    history = History(LocalStore(tmp_path))
    leaking = StubAttempt(JobStatus.FAILED, JobFailedError("login failed", why="password hunter2"))
    job(leaking, FAILED, FINISHED, history=history).wait()
    moves = [event.status for event in reversed(history.read()) if isinstance(event, JobEvent)]
    assert moves == ["RUNNING", "RESTARTING", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]
    assert [(e.attempt, e.what, e.why, e.status) for e in history.exceptions()] == [
        (2, "it broke", "", "RESTARTING"),
        (1, "login failed", "password ******", "RESTARTING"),
    ]


@pytest.mark.parametrize(
    ("configured", "strategy"),
    [
        (NoRestart(), restart.NoRestart()),
        (FixedDelay(attempts=3, delay="10s"), restart.FixedDelay(3, 10)),
        (
            FailureRate(max_failures_per_interval=2, failure_rate_interval="5 min", delay="1s"),
            restart.FailureRate(2, 300, 1),
        ),
        (
            ExponentialDelay(),
            restart.ExponentialDelay(
                initial=1, maximum=60, multiplier=1.5, reset_after=3600, jitter=0.1, attempts=None
            ),
        ),
        (Restart(), restart.create_strategy(ExponentialDelay())),
    ],
)
def test_the_configuration_names_the_strategy(configured: Restart, strategy: restart.RestartStrategy):
    assert restart.create_strategy(configured) == strategy


def test_a_job_that_cannot_be_drained_goes_on():
    running = job(FINISHED)
    refused = running.stop_with_savepoint("/savepoints", drain=True)
    assert str(refused.exception(timeout=0)) == "The job cannot be drained."
    assert running.status is JobStatus.RUNNING


def test_a_restart_does_not_move_the_start_of_the_job():
    running = job(FAILED, FINISHED)
    began = running.moved_at[JobStatus.RUNNING]
    running.wait()
    assert running.moved_at[JobStatus.RUNNING] > began
    assert min(running.moved_at.values()) <= began
