"""The bridge with an engine that calls as it is told: every seal is answered, whatever happens."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from milepost.checkpoint.clock import Clock
from milepost.checkpoint.model import CheckpointId, Declined
from milepost.checkpoint.stats.counts import CheckpointStats
from milepost.checkpoint.stats.engine_report import SealReport
from milepost.job.bridge import EngineCalls

LONG = 10.0
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
REPORT = json.dumps({"admitted": True, "wanted": False, "writers": [{"partition": 3, "rows": 5}]})


class StubClock(Clock):
    def now(self) -> datetime:
        return NOW


class StubCalls:
    """Java's `CoordinatorCalls`, without waiting: what was posted comes out, then what closing brings."""

    def __init__(self) -> None:
        self.posted: queue.Queue[str | None] = queue.Queue()
        self.answers: queue.Queue[tuple[int, str]] = queue.Queue()
        self.closed = threading.Event()
        self.is_broken = False

    def post(self, call: str, checkpoint_id: int, report: str | None = None) -> None:
        self.posted.put(json.dumps({"call": call, "id": checkpoint_id, "report": report}))

    def next(self, _timeout_ms: int) -> str | None:
        call = self.posted.get(timeout=LONG)
        if self.is_broken:
            raise ConnectionError("the JVM is gone")
        return call

    def answer(self, checkpoint_id: int, verdict: str) -> None:
        self.answers.put((checkpoint_id, verdict))

    def isClosed(self) -> bool:
        return self.closed.is_set()

    def close(self) -> None:
        self.closed.set()
        self.posted.put(None)


class StubCoordinator:
    def __init__(self) -> None:
        self.attempt = 4
        self.changed = threading.Condition()
        self.stats = CheckpointStats()
        self.events: list[Any] = []
        self.verdict: Declined | None = None
        self.raises: BaseException | None = None

    def seal(self, checkpoint_id: CheckpointId, report: SealReport, attempt: int) -> Declined | None:
        self.events.append(("seal", checkpoint_id, report, attempt))
        if self.raises is not None:
            raise self.raises
        return self.verdict

    def committed(self, checkpoint_id: CheckpointId) -> None:
        self.events.append(("committed", checkpoint_id))


@pytest.fixture
def calls() -> StubCalls:
    return StubCalls()


@pytest.fixture
def coordinator() -> StubCoordinator:
    return StubCoordinator()


@pytest.fixture
def bridge(calls: StubCalls, coordinator: StubCoordinator) -> Iterator[EngineCalls]:
    bridge = EngineCalls(calls, coordinator, StubClock())  # type: ignore[arg-type]
    bridge.start()
    yield bridge
    bridge.stop()
    assert not bridge._thread.is_alive()


@pytest.mark.usefixtures("bridge")
@pytest.mark.parametrize("verdict", ["", "Checkpoint 7 was declined"])
def test_the_coordinators_verdict_is_the_answer(
    calls: StubCalls, coordinator: StubCoordinator, verdict: str
) -> None:
    coordinator.verdict = Declined(verdict) if verdict else None
    calls.post("seal", 7, REPORT)
    assert calls.answers.get(timeout=LONG) == (7, verdict)
    ((_, checkpoint_id, report, _),) = coordinator.events
    assert checkpoint_id == 7
    assert (report.was_admitted, report.was_wanted) == (True, False)
    assert [(ack.participant, ack.rows, ack.at) for ack in report.acknowledgements] == [("writer/3", 5, NOW)]


@pytest.mark.usefixtures("bridge")
@pytest.mark.parametrize(
    ("raises", "report", "expected"),
    [
        (TypeError("a fault of ours"), REPORT, "TypeError: a fault of ours"),
        (None, "{", "JSONDecodeError"),
        (None, "{}", "KeyError"),
    ],
    ids=["the coordinator raises", "no JSON", "an incomplete report"],
)
def test_a_seal_that_breaks_is_declined_and_the_next_is_served(
    calls: StubCalls,
    coordinator: StubCoordinator,
    raises: BaseException | None,
    report: str,
    expected: str,
) -> None:
    coordinator.raises = raises
    calls.post("seal", 7, report)
    checkpoint_id, verdict = calls.answers.get(timeout=LONG)
    assert checkpoint_id == 7
    assert expected in verdict
    coordinator.raises = None
    calls.post("seal", 8, REPORT)
    assert calls.answers.get(timeout=LONG) == (8, "")


@pytest.mark.usefixtures("bridge")
def test_calls_are_brought_in_their_order(calls: StubCalls, coordinator: StubCoordinator) -> None:
    calls.post("committed", 6)
    calls.posted.put(None)  # none came in that time
    calls.post("seal", 7, REPORT)
    assert calls.answers.get(timeout=LONG)[0] == 7
    assert [event[:2] for event in coordinator.events] == [("committed", 6), ("seal", 7)]
    assert calls.answers.empty(), "a commit is not answered"


@pytest.mark.usefixtures("bridge")
def test_every_seal_says_of_which_attempt_it_is(calls: StubCalls, coordinator: StubCoordinator) -> None:
    coordinator.attempt = 5  # the attempt of this bridge has ended
    calls.post("seal", 7, REPORT)
    calls.answers.get(timeout=LONG)
    assert coordinator.events[0][3] == 4


@pytest.mark.parametrize("fault", ["the JVM is gone", "no JSON", "no id"])
def test_where_no_call_can_be_fetched_any_more_nobody_waits_for_an_answer(
    bridge: EngineCalls, calls: StubCalls, fault: str
) -> None:
    calls.is_broken = fault == "the JVM is gone"
    calls.posted.put({"the JVM is gone": "", "no JSON": "{", "no id": "{}"}[fault])
    assert calls.closed.wait(LONG), "the engine would wait for ever"
    bridge._thread.join(LONG)
    assert not bridge._thread.is_alive()


def test_eras_of_versions_are_kept_before_the_engine_goes_on(
    calls: StubCalls, coordinator: StubCoordinator
) -> None:
    kept: list[str] = []

    def keep(eras: str) -> None:
        if not eras:
            raise OSError(28, "No space left on device", "/c/milepost/versions.json")
        kept.append(eras)

    bridge = EngineCalls(calls, coordinator, StubClock(), keep)  # type: ignore[arg-type]
    bridge.start()
    calls.post("versions", -2, "{}")
    assert calls.answers.get(timeout=LONG) == (-2, "")
    calls.post("versions", -2, "")
    number, told = calls.answers.get(timeout=LONG)
    assert number == -2
    assert told.startswith("The directory /c is full: No space left on device.")
    bridge.stop()
    assert kept == ["{}"]
