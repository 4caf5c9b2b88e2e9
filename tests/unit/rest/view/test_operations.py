"""Operations: idempotent by the client's id, bounded, kept until they are fetched."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import pytest

from milepost.rest.server.refusal import Refusal
from milepost.rest.view.operations import KEPT, Kind, Operations


def test_an_id_is_made_where_none_is_given():
    operations = Operations()
    first, second = (operations.start(Kind.CHECKPOINT, None, Future) for _ in range(2))
    assert len(first) == 32
    assert first != second


def test_a_known_id_starts_nothing_again():
    operations = Operations()
    started: list[Future] = []

    def start() -> Future:
        started.append(Future())
        return started[-1]

    assert operations.start(Kind.SAVEPOINT, "a" * 32, start) == operations.start(
        Kind.SAVEPOINT, "a" * 32, start
    )
    assert len(started) == 1
    assert operations.find(Kind.SAVEPOINT, "a" * 32) is started[0]


def test_each_kind_has_its_own():
    operations = Operations()
    operations.start(Kind.SAVEPOINT, "a" * 32, Future)
    assert operations.find(Kind.CHECKPOINT, "a" * 32) is None


def test_a_result_that_was_not_fetched_is_waited_for():
    operations = Operations()
    future: Future = Future()
    operations.start(Kind.SAVEPOINT, "a" * 32, lambda: future)
    future.set_result(1)
    assert not operations.wait_until_fetched(0.01)
    fetcher = threading.Thread(target=operations.find, args=(Kind.SAVEPOINT, "a" * 32))
    fetcher.start()
    assert operations.wait_until_fetched(5)
    fetcher.join()


def test_nobody_waits_where_nothing_was_asked():
    assert Operations().wait_until_fetched(0)


def test_old_results_make_room_and_running_ones_do_not():
    operations = Operations()
    done: Future = Future()
    done.set_result(1)
    ids = [operations.start(Kind.CHECKPOINT, None, lambda: done) for _ in range(KEPT + 1)]
    assert operations.find(Kind.CHECKPOINT, ids[0]) is None
    assert operations.find(Kind.CHECKPOINT, ids[-1]) is done

    running = Operations()
    for _ in range(KEPT):
        running.start(Kind.CHECKPOINT, None, Future)
    with pytest.raises(Refusal, match="operations are in progress") as refused:
        running.start(Kind.CHECKPOINT, None, Future)
    assert refused.value.status == 503


def test_the_end_of_a_cancelled_job_waits_for_who_cancelled_it(monkeypatch: pytest.MonkeyPatch):
    operations = Operations()
    operations.mark_end_awaited()
    began = time.monotonic()
    told = threading.Timer(0.05, operations.mark_end_reported)
    told.start()
    assert operations.wait_until_fetched(10)
    assert 0.05 <= time.monotonic() - began < 10
    monkeypatch.setattr("milepost.rest.view.operations.END_TIMEOUT", 0.05)
    operations.mark_end_awaited()
    assert operations.wait_until_fetched(10)  # nobody asks, and nobody is waited for any longer
