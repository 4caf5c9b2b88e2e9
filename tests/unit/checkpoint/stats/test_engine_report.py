"""What the engine says of a batch, as it is read."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from tests.unit.checkpoint.rig import START

from milepost.checkpoint.model import Acknowledgement
from milepost.checkpoint.stats.engine_report import (
    LiveBatch,
    SealReport,
    parse_report,
    writer_acks,
)

SMALLEST = {"admitted": True, "wanted": True}


def parsed(**document: Any) -> SealReport:
    return parse_report(json.dumps(SMALLEST | document), START)


def test_the_smallest_report() -> None:
    assert parsed() == SealReport()


@pytest.mark.parametrize(
    ("document", "fact", "expected"),
    [
        ({"admitted": False}, "was_admitted", False),
        ({"wanted": False}, "was_wanted", False),
        ({"admitted-at": 0}, "admitted_at", None),
        ({"admitted-at": None}, "admitted_at", None),
        ({"admitted-at": 1500}, "admitted_at", datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc)),
        ({"gate-wait-ms": 12}, "gate_wait_ms", 12),
        ({"topic-fault": None}, "topic_fault", None),
        ({"writer-fault": "another job"}, "writer_fault", "another job"),
        ({"topic-fault": "orders has a new id"}, "topic_fault", "orders has a new id"),
        ({"topic-ids": {"orders": "a"}}, "topic_ids", {"orders": "a"}),
        ({"rejected": {"MALFORMED": 2}}, "rejected", {"MALFORMED": 2}),
        ({"late": {"orders": 500}}, "late", {"orders": 500}),
    ],
)
def test_each_fact_of_a_report(document: dict[str, Any], fact: str, expected: object) -> None:
    assert getattr(parsed(**document), fact) == expected


@pytest.mark.parametrize(
    ("kind", "said", "expected"),
    [
        (
            "writers",
            {"partition": 2, "rows": 5, "bytes": 70, "flush-ms": 9, "puts": 4},
            Acknowledgement(
                participant="writer/2",
                at=START,
                rows=5,
                bytes=70,
                duration_ms=9,
                details={"partition": 2, "puts": 4},
            ),
        ),
        (
            "writers",
            {"partition": 0},
            Acknowledgement(participant="writer/0", at=START, details={"partition": 0}),
        ),
        (
            "states",
            {"operator": "dedupe", "rows": 3, "bytes": 800, "commit-ms": 6, "flush-ms": 1},
            Acknowledgement(
                participant="state/dedupe",
                at=START,
                rows=3,
                bytes=800,
                duration_ms=6,
                details={"operator": "dedupe", "flush-ms": 1},
            ),
        ),
    ],
    ids=["a writer", "a writer with nothing to say", "a state store"],
)
def test_an_acknowledgement(kind: str, said: dict[str, Any], expected: Acknowledgement) -> None:
    assert parsed(**{kind: [said]}).acknowledgements == (expected,)


def test_writers_come_before_state_stores_in_their_order() -> None:
    report = parsed(states=[{"operator": "a"}], writers=[{"partition": 1}, {"partition": 0}])
    assert [ack.participant for ack in report.acknowledgements] == ["writer/1", "writer/0", "state/a"]


@pytest.mark.parametrize("missing", ["admitted", "wanted"])
def test_a_report_without_its_facts_is_no_report(missing: str) -> None:
    document = {key: value for key, value in SMALLEST.items() if key != missing}
    with pytest.raises(KeyError, match=missing):
        parse_report(json.dumps(document), START)


@pytest.mark.parametrize(
    ("tasks", "expected"), [(0, set()), (1, {"writer/0"}), (3, {"writer/0", "writer/1", "writer/2"})]
)
def test_the_writers_of_a_batch_have_the_names_of_their_acknowledgements(
    tasks: int, expected: set[str]
) -> None:
    assert LiveBatch(batch_id=0, tasks=tasks).names == expected
    assert {
        ack.participant for ack in writer_acks([{"partition": n} for n in range(tasks)], START)
    } == expected


def test_the_operators_of_a_batch_have_the_names_of_their_acknowledgements() -> None:
    document = SMALLEST | {"states": [{"operator": 0}, {"operator": 2}]}
    acks = parse_report(json.dumps(document), START).acknowledgements
    assert LiveBatch(batch_id=0, tasks=0, states=(0, 2)).names == {ack.participant for ack in acks}
