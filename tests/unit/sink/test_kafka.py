from __future__ import annotations

import json
from typing import Any

import pytest

from milepost.config import Checkpointing, KafkaSink
from milepost.errors import NotReachableError, PreflightError
from milepost.sink.kafka import KafkaStage, require_usable

SINK = KafkaSink(bootstrap_servers="b:1", topic="out", key="id", properties={"linger.ms": 5})


def stage(mode: str = "exactly-once", directory: str = "/data") -> KafkaStage:
    return KafkaStage(SINK, name="job", checkpointing=Checkpointing(dir=directory, mode=mode))


def test_transactions_have_a_name_that_is_the_job_s_own():
    options = stage().options()
    assert options["producer.bootstrap.servers"] == "b:1"
    assert options["producer.linger.ms"] == "5"
    assert options["transaction-timeout-ms"] == "900000"
    assert options["transactional-id-prefix"].startswith("milepost-job-")
    assert options == stage().options()
    assert options != stage(directory="/other").options()


def test_without_exactly_once_there_are_no_transactions():
    loose = stage("at-least-once")
    assert "transactional-id-prefix" not in loose.options()
    assert "without transactions" in loose.summary()
    assert loose.key_columns == ("id",)


@pytest.mark.parametrize(
    ("facts", "error", "sentence"),
    [
        ({"error": "TimeoutException: no"}, NotReachableError, "b:1 does not answer"),
        ({"topic-exists": False}, PreflightError, "Topic 'out' of sink.kafka does not exist"),
        ({"longest-transaction-ms": 60_000}, PreflightError, "is 15m, but the brokers allow at most 60 s"),
    ],
)
def test_what_cannot_work_is_refused(facts: dict[str, Any], error: type[Exception], sentence: str):
    with pytest.raises(error, match=sentence):
        require_usable(SINK, json.dumps(facts), is_transactional=True)


def test_what_can_work_is_not():
    require_usable(
        SINK, json.dumps({"topic-exists": True, "longest-transaction-ms": 900_000}), is_transactional=True
    )
    require_usable(SINK, json.dumps({"longest-transaction-ms": 1}), is_transactional=False)
