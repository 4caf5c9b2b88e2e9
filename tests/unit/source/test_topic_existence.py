"""Whether topics exist, asked without a JVM: an answer for sure, or none. tests/system/test_early.py asks a broker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException

from milepost.config import KafkaSource
from milepost.source.topic_existence import existing_topics

ERRORS = {"missing": KafkaError.UNKNOWN_TOPIC_OR_PART, "closed": KafkaError.TOPIC_AUTHORIZATION_FAILED}


class Broker:
    """Has the topics orders and customers, and hides one that this client may not see."""

    def __init__(self, _client: Mapping[str, Any]) -> None:
        pass

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[object]]:
        answers = {}
        for name in topics.topic_names:
            answers[name] = answer = Future[object]()
            if name in ERRORS:
                answer.set_exception(KafkaException(KafkaError(ERRORS[name])))
            else:
                answer.set_result(SimpleNamespace())
        return answers

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics=dict.fromkeys(["orders", "customers", "__consumer_offsets"]))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> None:
    # confluent-kafka's own collection keeps its names to itself.
    monkeypatch.setattr(confluent_kafka, "TopicCollection", lambda names: SimpleNamespace(topic_names=names))
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", Broker)


def source(**keys: Any) -> KafkaSource:
    return KafkaSource(**{"bootstrap_servers": "127.0.0.1:1", **keys})


@pytest.mark.usefixtures("broker")
def test_topics_by_their_names() -> None:
    there = existing_topics(source(topics=["orders", "customers"]))
    assert there is not None
    assert set(there.topics) == {"orders", "customers"}
    lacking = existing_topics(source(topics=["orders", "missing"]))
    assert lacking is not None
    assert set(lacking.topics) == {"orders"}
    assert lacking.existing == {"orders", "customers"}


@pytest.mark.usefixtures("broker")
def test_a_topic_that_this_client_may_not_see_is_not_denied() -> None:
    assert existing_topics(source(topics=["missing", "closed"])) is None


@pytest.mark.usefixtures("broker")
def test_topics_by_a_pattern() -> None:
    found = existing_topics(source(topic_pattern="ord.*"))
    assert found is not None
    assert set(found.topics) == {"orders"}
    none = existing_topics(source(topic_pattern="bills-.*"))
    assert none is not None
    assert not none.topics
    assert none.existing == {"orders", "customers"}


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("pattern", ["[a-z&&[^b]]+", r"\p{Alpha}+"])
def test_a_pattern_that_only_java_understands_is_left_to_java(pattern: str) -> None:
    assert existing_topics(source(topic_pattern=pattern)) is None


def test_a_broker_that_does_not_answer_is_left_to_the_start() -> None:
    began = time.monotonic()
    assert existing_topics(source(topics=["orders"]), timeout=0.2) is None
    assert time.monotonic() - began < 5


def test_properties_without_a_translation_are_left_to_the_start() -> None:
    keys = {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}
    assert existing_topics(source(topics=["orders"], properties=keys)) is None
