"""The coordinator's thread: what wakes it, and what does not end it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from milepost.checkpoint.worker import CoordinatorThread
from milepost.errors import MilepostError

LONG = 10.0


class StubCoordinator:
    """Advances by what it was given: a pause, nothing, or an error."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.calls = 0
        self.advanced: queue.Queue[int] = queue.Queue()
        self.results: queue.Queue[float | Exception | None] = queue.Queue()
        self.call_meanwhile = False
        self.given_up: list[MilepostError] = []

    def call(self) -> None:
        with self.changed:
            self.calls += 1
            self.changed.notify_all()

    def advance(self) -> float | None:
        if self.call_meanwhile:
            self.call_meanwhile = False
            self.call()
        self.advanced.put(self.calls)
        result = None if self.results.empty() else self.results.get()
        if isinstance(result, Exception):
            raise result
        return result

    def give_up(self, error: MilepostError) -> None:
        self.given_up.append(error)


@pytest.fixture
def coordinator() -> StubCoordinator:
    return StubCoordinator()


@pytest.fixture
def worker(coordinator: StubCoordinator) -> Iterator[CoordinatorThread]:
    worker = CoordinatorThread(coordinator)  # type: ignore[arg-type]
    yield worker
    worker.stop(LONG)
    assert not worker._thread.is_alive()


def test_it_advances_at_once_and_with_every_call(
    worker: CoordinatorThread, coordinator: StubCoordinator
) -> None:
    worker.start()
    assert coordinator.advanced.get(timeout=LONG) == 0
    for number in (1, 2):
        coordinator.call()
        assert coordinator.advanced.get(timeout=LONG) == number


def test_a_call_while_it_advances_is_not_slept_over(
    worker: CoordinatorThread, coordinator: StubCoordinator
) -> None:
    coordinator.call_meanwhile = True
    worker.start()
    assert [coordinator.advanced.get(timeout=LONG) for _ in range(2)] == [1, 1]


def test_when_the_pause_is_over_it_advances_without_a_call(
    worker: CoordinatorThread, coordinator: StubCoordinator
) -> None:
    coordinator.results.put(0.0)
    worker.start()
    assert [coordinator.advanced.get(timeout=LONG) for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("pause", [None, 3600.0])
def test_a_stop_ends_the_sleep(
    worker: CoordinatorThread, coordinator: StubCoordinator, pause: float | None
) -> None:
    coordinator.results.put(pause)
    worker.start()
    coordinator.advanced.get(timeout=LONG)
    worker.stop(LONG)
    assert not worker._thread.is_alive()
    assert coordinator.advanced.empty()


def test_a_fault_fails_the_job_and_the_thread_goes_on(
    worker: CoordinatorThread, coordinator: StubCoordinator
) -> None:
    coordinator.results.put(ZeroDivisionError("a fault of ours"))
    worker.start()
    coordinator.advanced.get(timeout=LONG)
    coordinator.call()
    assert coordinator.advanced.get(timeout=LONG) == 1, "who waits for a completion still hears of it"
    (error,) = coordinator.given_up
    assert "ZeroDivisionError: a fault of ours" in str(error)
    assert error.retryable


def test_a_full_disk_fails_the_job_without_a_trace(
    worker: CoordinatorThread, coordinator: StubCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator.results.put(OSError(28, "No space left on device", "/c/milepost/history.jsonl"))
    worker.start()
    coordinator.advanced.get(timeout=LONG)
    coordinator.call()
    assert coordinator.advanced.get(timeout=LONG) == 1
    (error,) = coordinator.given_up
    assert error.what == "The directory /c is full: No space left on device"
    assert caplog.records == []
