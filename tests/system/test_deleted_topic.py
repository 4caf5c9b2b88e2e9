"""A topic that is deleted fails the job once, with its name and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, no_trace, numbered, wait_until

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.driver import read_position
from milepost.errors import MilepostError, PreflightError
from milepost.job.status import JobStatus

PATIENT = {"strategy": "fixed-delay", "attempts": 1000, "delay": "200ms"}
RECORDS = 4
EXECUTIONS = ["micro-batch", "real-time"]


def config(lab: Lab, topic: str, **checkpointing: Any) -> Config:
    return lab.numbers(
        topic,
        source={"stop": "never"},
        checkpointing={"interval": "300ms", **checkpointing},
        restart=PATIENT,
    )


def delete(lab: Lab, topic: str) -> None:
    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")


def require_told(error: MilepostError | None, topic: str) -> None:
    """The sentence names the topic and the way out, and holds nothing of a JVM."""
    assert error is not None
    text = str(error)
    assert topic in error.what, text
    assert "was deleted" in text
    assert error.fix, text
    assert no_trace(text)
    assert not [word for word in ("SQLSTATE", "Exception", "org.apache", "does not host") if word in text]


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_under_a_running_job(lab: Lab, execution: str) -> None:
    """It was `This server does not host this topic-partition.`, for ever."""
    topic = lab.topic(*numbered(RECORDS))
    made = config(lab, topic, execution=execution)
    with lab.running(made) as running:
        wait_until(
            lambda: read_position(Layout(Path(made.checkpointing.dir))).records == RECORDS, "the records"
        )
        delete(lab, topic)
        wait_until(lambda: running.job.status is JobStatus.FAILED, "the job fails")
        require_told(running.job.error, topic)
        assert running.job.restarts <= 1, "at most the one that finds the topic gone"
        running.job.error = None  # it is looked at; the block need not raise it


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_before_the_job_starts_again(lab: Lab, execution: str) -> None:
    topic = lab.topic(*numbered(RECORDS))
    made = config(lab, topic, execution=execution)
    with lab.running(made):
        wait_until(
            lambda: read_position(Layout(Path(made.checkpointing.dir))).records == RECORDS, "the records"
        )
    delete(lab, topic)
    with pytest.raises(PreflightError) as refused:
        lab.start(made)
    require_told(refused.value, topic)
