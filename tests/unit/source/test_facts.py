from __future__ import annotations

import json

import pytest

from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.source.facts import PartitionFacts, parse_facts

ANSWER = {
    "existing": ["orders", "other"],
    "topics": {
        "orders": {
            "id": "Zm9v",
            "partitions": {"1": {"earliest": 0, "latest": 7, "group": 3}, "0": {"earliest": 2, "latest": 9}},
        }
    },
}


def test_facts_are_in_order():
    facts = parse_facts(json.dumps(ANSWER), "broker:9092")
    assert list(facts.partitions()) == [
        ("orders", 0, PartitionFacts(earliest=2, latest=9)),
        ("orders", 1, PartitionFacts(earliest=0, latest=7, group=3)),
    ]
    assert facts.partition_count() == 2
    assert facts.topics["orders"].topic_id == "Zm9v"


@pytest.mark.parametrize(
    ("kind", "error", "exit_code"),
    [
        ("unreachable", NotReachableError, 3),
        ("forbidden", PreflightError, 2),
        ("unauthenticated", PreflightError, 2),
        ("properties", PreflightError, 2),
    ],
)
def test_an_error_says_where_and_how_to_mend_it(kind: str, error: type[MilepostError], exit_code: int):
    with pytest.raises(error) as raised:
        parse_facts(json.dumps({"error": {"kind": kind, "message": "because"}}), "broker:9092")
    assert raised.value.exit_code == exit_code
    assert raised.value.why == "because"
    assert raised.value.fix
