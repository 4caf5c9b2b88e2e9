"""The stream of orders is repeatable and has every kind of event in it."""

from __future__ import annotations

import json
from collections import defaultdict

from milepost.demo.workload import SCHEMA, events
from milepost.verify.schema import parse_schema


def test_the_same_seed_gives_the_same_events() -> None:
    assert list(events(500, 1)) == list(events(500, 1))
    assert list(events(500, 1)) != list(events(500, 2))


def test_there_are_updates_deletes_tombstones_and_reinserts() -> None:
    operations: defaultdict[bytes, str] = defaultdict(str)
    for event in events(20_000, 7):
        word = "t" if event.value is None else json.loads(event.value)["op"][0]
        operations[event.key] += word
    assert len(operations) > 4_000
    for part in ("uu", "ud", "ut", "du", "tu"):
        assert sum(part in sequence for sequence in operations.values()) > 50, part
    # A delete of what is not there would prove nothing.
    assert not any(part in sequence for sequence in operations.values() for part in ("dd", "tt", "dt", "td"))


def test_the_events_of_a_key_are_numbered_without_a_gap() -> None:
    numbers: defaultdict[bytes, list[int | None]] = defaultdict(list)
    for event in events(5_000, 7):
        numbers[event.key].append(None if event.value is None else json.loads(event.value)["seq"])
    assert all(n is None or n == i for each in numbers.values() for i, n in enumerate(each))


def test_the_values_have_the_columns_of_the_schema() -> None:
    columns = {field.name for field in parse_schema(SCHEMA)}
    assert all(set(json.loads(event.value)) <= columns for event in events(1000, 7) if event.value)
