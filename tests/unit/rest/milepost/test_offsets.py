"""Offsets as the broker said them a moment ago, or as the checkpoint alone knows them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.rest.asgi import JOB, Server, completed, later

from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.retention import Standing, Verdict
from milepost.rest.milepost.offsets import offsets_body
from milepost.rest.view import monitor
from milepost.rest.view.background_query import QueryState

OWN = f"/milepost/jobs/{JOB}"
CHECKPOINT = replace(completed(4), sources=({"t": {0: 10}},))


def part(verdict: Verdict, number: int = 0) -> PartitionOffsets:
    return PartitionOffsets(
        topic="t", partition=number, checkpoint=10, group=12, earliest=5, latest=30, verdict=verdict
    )


def test_what_the_broker_said_has_an_age():
    parts = [part(Verdict(Standing.RESTORABLE, 500)), part(Verdict(Standing.CAUGHT_UP, 300), 1)]
    body = offsets_body(QueryState(result=(CHECKPOINT, parts), at=later(1)), None, later(4))
    assert (body["checkpoint"], body["age-ms"], body["error"]) == (4, 3000, None)
    assert (body["restorable"], body["left-ms"]) == (True, 300)
    assert body["partitions"][0] == {
        "topic": "t",
        "partition": 0,
        "checkpoint": 10,
        "group": 12,
        "drift": 2,
        "earliest": 5,
        "latest": 30,
        "lag": 20,
        "standing": "RESTORABLE",
        "left-ms": 500,
        "note": "",
        "stale": {"checkpoint": False, "group": False},
    }


def test_a_partition_that_is_lost_makes_all_unrestorable():
    parts = [part(Verdict(Standing.RESTORABLE)), part(Verdict(Standing.UNRESTORABLE, note="gone"), 1)]
    assert (
        offsets_body(QueryState(result=(CHECKPOINT, parts), at=later(1)), None, later(4))["restorable"]
        is False
    )


def test_until_the_broker_answers_the_checkpoint_tells():
    body = offsets_body(QueryState(is_running=True, error="Kafka does not answer."), CHECKPOINT, later(4))
    assert (body["checkpoint"], body["asked-at"], body["asking"]) == (4, None, True)
    assert body["error"] == "Kafka does not answer."
    assert [(each["checkpoint"], each["latest"]) for each in body["partitions"]] == [(10, None)]
    assert body["restorable"] is None


def test_before_the_first_checkpoint_there_is_nothing():
    body = offsets_body(QueryState(), None, later(4))
    assert (body["checkpoint"], body["partitions"], body["restorable"]) == (None, [], None)


def test_offsets_are_asked_beside_the_request(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(monitor, "compare", lambda *_, **__: [])
    server.job.checkpoints.stats.add(completed(4))
    assert server.get(f"{OWN}/offsets").json["checkpoint"] == 4
    body = server.poll(f"{OWN}/offsets", "asking", False)
    assert body["age-ms"] is not None
    assert body["error"] is None
