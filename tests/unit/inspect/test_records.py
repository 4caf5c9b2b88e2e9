"""Records by their place; the broker's answers are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from milepost.config import Config
from milepost.inspect import records
from milepost.verify.log import Span
from milepost.verify.oracle import Record

HOLES = {("orders", 0, 6)}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> tuple[records.Records, list[list[Span]]]:
    asked: list[list[Span]] = []

    def take_spans(_client: Mapping[str, str], topics: Sequence[str]) -> list[Span]:
        return [Span(topic=topics[0], partition=number, begin=5, end=10) for number in (0, 1)]

    def read(_client: Mapping[str, str], spans: Sequence[Span]) -> Iterator[Record]:
        asked.append(list(spans))
        for span in spans:
            if (span.topic, span.partition, span.begin) not in HOLES:
                yield Record(span.topic, span.partition, span.begin, 0, b"k", b"v")

    monkeypatch.setattr(records, "take_spans", take_spans)
    monkeypatch.setattr(records, "read", read)
    config = Config(
        name="orders",
        source={"kafka": {"bootstrap-servers": "h:1", "topics": ["orders"]}},
        sink={"console": {}},
        checkpointing={"dir": "/tmp/none"},
    )
    return records.Records(config), asked


def test_the_ends_are_those_of_the_broker(log: tuple[records.Records, list[list[Span]]]) -> None:
    assert log[0].ends() == {("orders", 0): 10, ("orders", 1): 10}


def test_what_is_gone_not_yet_there_or_no_record_is_left_out(
    log: tuple[records.Records, list[list[Span]]],
) -> None:
    spots = [
        ("orders", 0, 4),
        ("orders", 0, 5),
        ("orders", 0, 6),
        ("orders", 0, 10),
        ("orders", 7, 5),
        ("x", 0, 5),
    ]
    assert list(log[0].at(spots)) == [("orders", 0, 5)]


def test_a_partition_is_read_at_one_place_after_the_other(
    log: tuple[records.Records, list[list[Span]]],
) -> None:
    found, asked = log[0].at([("orders", 0, 8), ("orders", 0, 5), ("orders", 1, 5), ("orders", 0, 8)]), log[1]
    assert set(found) == {("orders", 0, 5), ("orders", 0, 8), ("orders", 1, 5)}
    assert [sorted((s.partition, s.begin, s.end) for s in spans) for spans in asked] == [
        [(0, 5, 6), (1, 5, 6)],
        [(0, 8, 9)],
    ]
