"""A topic that is deleted and created again under a running job stops it, also where the new one is longer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, no_trace, wait_until

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.errors import TopicRecreatedError
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job

BEFORE, AFTER = 4, 40
PATIENT = {"strategy": "fixed-delay", "attempts": 5, "delay": "0s"}


def records(count: int, name: str) -> list[Sent]:
    return [Sent(json.dumps({"id": f"{name}{n}", "n": n}).encode(), b"k", 0) for n in range(count)]


def job(lab: Lab, topic: str, interval: str) -> Config:
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"interval": interval},
        restart=PATIENT,
    )


def recreate(lab: Lab, topic: str) -> None:
    """Delete the topic, and create it with more records than before."""
    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    lab.create_topic(topic)
    lab.produce(topic, *records(AFTER, "new"))


def require_stopped(running: Job, config: Config) -> None:
    """FAILED of TOPIC_RECREATED, at the first time, and at the offsets that it had."""
    assert running.wait() is JobStatus.FAILED
    error = running.error
    assert isinstance(error, TopicRecreatedError), repr(error)
    assert "TOPIC_RECREATED" in str(error)
    assert no_trace(str(error))
    assert running.restarts == 0
    layout = Layout(Path(config.checkpointing.dir))
    assert read_position(layout).records == BEFORE


def started(lab: Lab, topic: str, config: Config) -> Job:
    running = lab.start(config)
    wait_until(lambda: running.progress().position.get(topic) == {0: BEFORE}, "the first records are done")
    return running


def test_between_two_checkpoints(lab: Lab) -> None:
    topic = lab.topic(*records(BEFORE, "old"))
    config = job(lab, topic, "60s")
    running = started(lab, topic, config)
    recreate(lab, topic)
    running.trigger_checkpoint()
    require_stopped(running, config)


@pytest.mark.parametrize("interval", ["100ms", "1s"])
def test_while_checkpoints_are_taken_all_the_time(lab: Lab, interval: str) -> None:
    topic = lab.topic(*records(BEFORE, "old"))
    config = job(lab, topic, interval)
    running = started(lab, topic, config)
    recreate(lab, topic)
    require_stopped(running, config)
