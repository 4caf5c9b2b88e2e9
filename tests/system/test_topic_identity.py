"""A topic that was deleted and created again is another topic, however long it is."""

from __future__ import annotations

import json

import pytest
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, wait_until

from milepost.errors import PreflightError


def records(count: int) -> list[Sent]:
    return [Sent(json.dumps({"id": f"k{n}", "n": n}).encode(), b"k", 0) for n in range(count)]


@pytest.mark.parametrize("count", [1, 9], ids=["shorter", "longer"])
def test_a_recreated_topic_is_refused_and_the_table_stays(lab: Lab, count: int) -> None:
    topic = lab.topic(*records(4))
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
    )
    assert lab.finish(config).rows == 4
    before = lab.cells(config)

    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    lab.create_topic(topic)
    lab.produce(topic, *records(count))

    with pytest.raises(PreflightError, match="TOPIC_RECREATED"):
        lab.start(config)
    assert lab.cells(config) == before
