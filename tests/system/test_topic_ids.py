"""A running source notices that its topic was deleted and created again, and learns of new topics of its pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, wait_until

from milepost.engine import java_map, jvm


@contextmanager
def watched(lab: Lab, expected: dict[str, str], **options: str) -> Iterator[Any]:
    client = {"kafka.bootstrap.servers": lab.services.bootstrap_servers}
    engine = jvm(lab.spark)
    ids = engine.io.milepost.kafka.topic.TopicIds(java_map(lab.spark, client | options), json.dumps(expected))
    try:
        yield ids
    finally:
        ids.close()


def known(ids: Any, *topics: str) -> dict[str, str]:
    """Ask until the ids of these topics are known."""

    def asked() -> bool:
        ids.request()
        return set(topics) <= set(json.loads(ids.known()))

    wait_until(asked, f"{topics} are known")
    return dict(json.loads(ids.known()))


def fault(ids: Any) -> str:
    def asked() -> bool:
        ids.request()
        return ids.fault() is not None

    wait_until(asked, "the fault is told")
    return str(ids.fault())


def delete(lab: Lab, topic: str) -> None:
    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")


def subscription(topic: str, *, by_pattern: bool) -> dict[str, str]:
    return {"subscribePattern": re.escape(topic) + ".*"} if by_pattern else {"subscribe": topic}


@pytest.mark.parametrize("by_pattern", [False, True], ids=["topic", "pattern"])
def test_a_topic_that_is_created_again_is_told_with_both_ids(lab: Lab, by_pattern: bool):
    topic = lab.topic(Sent(b"x"))
    with watched(lab, {}, **subscription(topic, by_pattern=by_pattern)) as ids:
        before = known(ids, topic)[topic]
        assert ids.fault() is None
    delete(lab, topic)
    lab.create_topic(topic)
    with watched(lab, {topic: before}, **subscription(topic, by_pattern=by_pattern)) as ids:
        told = fault(ids)
    after = re.fullmatch(
        f"topic {topic} was deleted and created again: its id is (.*) and was {re.escape(before)}", told
    )
    assert after is not None, told
    assert after[1] != before


def test_a_topic_that_is_created_again_while_it_is_open_is_told(lab: Lab):
    topic = lab.topic(Sent(b"x"))
    with watched(lab, {}, subscribe=topic) as ids:
        known(ids, topic)
        delete(lab, topic)
        lab.create_topic(topic)
        assert f"topic {topic} was deleted and created again" in fault(ids)


@pytest.mark.parametrize("by_pattern", [False, True], ids=["topic", "pattern"])
def test_a_topic_that_is_deleted_is_told(lab: Lab, by_pattern: bool):
    topic = lab.topic(Sent(b"x"))
    with watched(lab, {}, **subscription(topic, by_pattern=by_pattern)) as ids:
        known(ids, topic)
        delete(lab, topic)
        assert fault(ids) == f"topic {topic} was deleted"


def test_a_new_topic_of_the_pattern_is_learned_and_no_fault(lab: Lab):
    topic = lab.topic(Sent(b"x"))
    with watched(lab, {}, **subscription(topic, by_pattern=True)) as ids:
        first = known(ids, topic)
        assert list(first) == [topic]
        lab.create_topic(f"{topic}-second")
        both = known(ids, f"{topic}-second")
        assert set(both) == {topic, f"{topic}-second"}
        assert both[topic] == first[topic]
        assert ids.fault() is None
