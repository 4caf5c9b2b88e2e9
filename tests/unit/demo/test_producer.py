"""What the live producer does without a broker: nothing, and says so."""

from __future__ import annotations

import threading
import time

import pytest

from milepost.demo.producer import LiveProducer
from milepost.demo.workload import events
from milepost.errors import NotReachableError


def test_nothing_is_done_before_it_was_started() -> None:
    producer = LiveProducer("127.0.0.1:1", "t", events(10, 1))
    assert not producer.is_done
    producer.close()


def test_records_that_no_broker_takes_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.demo.producer._TIMEOUT_S", 0.5)
    producer = LiveProducer("127.0.0.1:1", "t", events(10, 1))
    with pytest.raises(NotReachableError, match="10 records"):
        producer.send(10)


def test_an_error_in_the_background_is_told_to_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.demo.producer._TIMEOUT_S", 0.5)
    producer = LiveProducer("127.0.0.1:1", "t", events(10, 1))
    producer.start(1e6)
    deadline, pause = time.monotonic() + 10, threading.Event()
    while producer.failure is None and time.monotonic() < deadline:
        pause.wait(0.05)
    with pytest.raises(NotReachableError, match="10 records"):
        _ = producer.is_done
