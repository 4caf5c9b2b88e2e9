"""Questions to a Kafka that is not there end soon; those to one that is are in tests/system/test_look_inside.py."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import Uuid

from milepost.errors import NotReachableError
from milepost.inspect import broker as broker_module
from milepost.inspect.broker import Broker, format_topic_id
from milepost.services.ports import choose_ports


def test_a_broker_that_is_not_there_is_said_to_be_so_in_time() -> None:
    address = f"127.0.0.1:{choose_ports(['kafka'], {})['kafka']}"
    began = time.monotonic()
    with pytest.raises(NotReachableError, match=address):
        Broker({"bootstrap.servers": address}, timeout=1.0).partitions(["orders"])
    assert time.monotonic() - began < 10


def test_an_answer_that_does_not_arrive_is_a_broker_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class SilentAdmin:
        def __init__(self, settings: dict[str, Any]) -> None: ...

        def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
            return {"orders": Future()}

    monkeypatch.setattr(broker_module, "AdminClient", SilentAdmin)
    with pytest.raises(NotReachableError, match="kafka:9092 does not answer"):
        Broker({"bootstrap.servers": "kafka:9092"}, timeout=0.01).facts({"orders": [0]})


def test_a_topics_id_is_written_as_kafkas_own_tools_do() -> None:
    assert format_topic_id(Uuid(-1, -3)) == "_____________________Q"


def test_about_nothing_nobody_is_asked() -> None:
    broker = Broker({"bootstrap.servers": "127.0.0.1:1"}, timeout=0.1)
    assert (broker.facts({}), broker.peek({})) == ({}, {})
