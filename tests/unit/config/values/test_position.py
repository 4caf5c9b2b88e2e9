"""B26: where reading begins and ends, and which offsets are refused before the start."""

from __future__ import annotations

from typing import Any

import pytest

START = "source/kafka/start"
STOP = "source/kafka/stop"

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({START: {"offsets": {"orders": {0: -1}}}}, "start.offsets.orders.0", "write latest by name"),
    ({START: {"offsets": {"orders": {0: "-2"}}}}, "start.offsets.orders.0", "write earliest by name"),
    ({START: {"offsets": {"orders": {0: -3}}}}, "start.offsets.orders.0", "at least 0"),
    ({START: {"offsets": {"orders": {0: 2**63}}}}, "start.offsets.orders.0", "must be an offset"),
    ({START: {"offsets": {"orders": {0: True}}}}, "start.offsets.orders.0", "must be an offset"),
    ({START: {"offsets": {"orders": {0: "x"}}}}, "start.offsets.orders.0", "offset, earliest or latest"),
    ({START: {"offsets": {"orders": {-1: 5}}}}, "start.offsets.orders.-1", "must be at least 0"),
    ({START: {"offsets": {"orders": {"x": 5}}}}, "start.offsets.orders.x", "must be a whole number"),
    ({START: {"offsets": {"orders": 5}}}, "start.offsets.orders", "must be a mapping"),
    ({START: {"offsets": {}}}, "start.offsets", "at least 1 item"),
    ({START: {"offsets": {"others": {0: 5}}}}, "start.offsets.others", "not a topic of this source"),
    ({STOP: {"offsets": {"others": {0: 5}}}}, "stop.offsets.others", "not a topic of this source"),
    (
        {STOP: {"offsets": {"orders": {0: "earliest"}}}},
        "stop.offsets.orders.0",
        "must be an offset or latest",
    ),
    ({STOP: {"offsets": {"orders": {0: -1}}}}, "stop.offsets.orders.0", "write latest by name"),
    ({START: {"timestamp": "soon"}}, "start.timestamp", "not a timestamp"),
    ({START: {"timestmap": 1}}, "start", "must be one of group-offsets, earliest"),
    ({START: "-1"}, "start", "must be one of group-offsets, earliest, latest"),
    ({STOP: "later"}, "stop", "must be one of never, latest"),
    (
        {START: {"offsets": {"orders": {0: 9}}}, STOP: {"offsets": {"orders": {0: 5}}}},
        "stop.offsets.orders.0",
        "is 5, before the start offset 9",
    ),
    (
        {START: {"timestamp": "2026-01-02T00:00:00Z"}, STOP: {"timestamp": "2026-01-01T00:00:00Z"}},
        "stop.timestamp",
        "is before start.timestamp",
    ),
]
ACCEPTED: list[dict[str, Any]] = [
    {START: "latest"},
    {START: {"offsets": {"orders": {0: 42, "1": "43", 2: "earliest", 3: "latest"}}}},
    {START: {"timestamp": "2026-01-01T00:00:00Z"}, STOP: {"timestamp": "2026-01-01T00:00:00Z"}},
    {STOP: "latest"},
    {STOP: {"offsets": {"orders": {0: 5, 1: "latest"}}}},
]


@pytest.mark.parametrize(("changes", "path", "sentence"), REFUSED)
def test_refused_before_the_start(faults, changes: dict[str, Any], path: str, sentence: str):
    found = faults(changes)
    assert list(found) == [f"source.kafka.{path}"]
    assert sentence in found[f"source.kafka.{path}"]


@pytest.mark.parametrize("changes", ACCEPTED)
def test_accepted(faults, changes: dict[str, Any]):
    assert faults(changes) == {}
