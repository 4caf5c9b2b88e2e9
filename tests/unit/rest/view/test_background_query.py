"""A slow query is asked beside whoever looks, one at a time, and what was known before stays."""

from __future__ import annotations

import threading
from collections.abc import Callable

from milepost.errors import NotReachableError
from milepost.rest.view.background_query import BackgroundQuery, QueryState

PATIENCE = 10.0


class Oracle:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = threading.Event()
        self.error: Exception | None = None

    def __call__(self) -> int:
        self.asked += 1
        assert self.may_answer.wait(PATIENCE)
        if self.error:
            raise self.error
        return self.asked


def settled(asking: BackgroundQuery[int]) -> QueryState[int]:
    """Wait until nobody is asked any more."""
    pause = threading.Event()
    for _ in range(500):
        if not asking.last().is_running:
            return asking.last()
        pause.wait(0.01)
    raise AssertionError("still asking")


def asking_of(oracle: Oracle, now: Callable[[], float] = lambda: 0.0) -> BackgroundQuery[int]:
    return BackgroundQuery(oracle, name="t", redact=lambda text: text.replace("hunter2", "******"), clock=now)


def test_nobody_waits_and_only_one_is_asked():
    oracle = Oracle()
    asking = asking_of(oracle)
    assert asking.last() == QueryState()
    assert [asking.get(5.0).is_running for _ in range(3)] == [True, True, True]
    oracle.may_answer.set()
    assert settled(asking).result == 1
    assert oracle.asked == 1


def test_an_answer_is_kept_until_it_is_old():
    oracle, now = Oracle(), [0.0]
    oracle.may_answer.set()
    asking = asking_of(oracle, lambda: now[0])
    asking.get(5.0)
    assert settled(asking).result == 1
    now[0] = 4.9
    assert not asking.get(5.0).is_running
    now[0] = 5.0
    assert asking.get(5.0).result == 1
    assert settled(asking).result == 2


def test_an_error_is_a_sentence_without_secrets_beside_the_older_answer():
    oracle, now = Oracle(), [0.0]
    oracle.may_answer.set()
    asking = asking_of(oracle, lambda: now[0])
    asking.get(5.0)
    first = settled(asking)
    now[0] = 9.0
    oracle.error = NotReachableError("Kafka at hunter2 does not answer")
    asking.get(5.0)
    known = settled(asking)
    assert (known.result, known.at) == (1, first.at)
    assert known.error == "Kafka at ****** does not answer."


def test_what_is_not_ours_is_not_told_in_full():
    oracle = Oracle()
    oracle.may_answer.set()
    oracle.error = RuntimeError("/etc/shadow")
    asking = asking_of(oracle)
    asking.get(5.0)
    assert settled(asking).error == "The query failed: RuntimeError."
