"""Several sources: what must hold between them."""

from __future__ import annotations

from typing import Any

import pytest

Source = dict[str, Any]

REFUSED: list[tuple[Source, Source, str, str]] = [
    (
        {"topics": "t"},
        {"topics": ["u", "t"]},
        "sources.b.kafka.topics",
        "'t' that sources.a.kafka also reads",
    ),
    ({"topic-pattern": "t.*"}, {"topics": "tt"}, "sources.b.kafka.topics", "use its view twice"),
    ({"topics": "tt"}, {"topic-pattern": "t.*"}, "sources.b.kafka.topic-pattern", "use its view twice"),
    ({"topic-pattern": "t.*"}, {"topic-pattern": "t.*"}, "sources.b.kafka.topic-pattern", "also reads"),
    ({"bad-records": "skip"}, {}, "sources.b.kafka.bad-records", "must be the same in every source"),
    (
        {"bad-records": {"dead-letter": "d"}},
        {"bad-records": {"dead-letter": "e"}},
        "sources.b.kafka.bad-records",
        "must be the same in every source",
    ),
    (
        {"bad-records": {"dead-letter": "d"}},
        {"bad-records": {"dead-letter": "d"}, "topics": "d"},
        # The source that reads it is refused as well, by itself.
        "sources.b.kafka.bad-records.dead-letter",
        "circulate for ever",
    ),
    (
        {"bad-records": {"dead-letter": "d"}},
        {"bad-records": {"dead-letter": "d"}, "bootstrap-servers": "other:1"},
        "sources.b.kafka.bootstrap-servers",
        "must be the same as in sources.a.kafka",
    ),
    (
        {"bad-records": {"dead-letter": "d"}},
        {"bad-records": {"dead-letter": "d"}, "properties": {"client.id": "x"}},
        "sources.b.kafka.bootstrap-servers",
        "must be the same as in sources.a.kafka",
    ),
]


def _kafka(source: Source, topic: str) -> dict[str, Source]:
    topics = {} if "topic-pattern" in source else {"topics": topic}
    return {"kafka": {"bootstrap-servers": "broker:1", **topics, **source}}


def _job(removed: object, a: Source, b: Source) -> dict[str, Any]:
    sources = {"a": _kafka(a, "topic-a"), "b": _kafka(b, "topic-b")}
    return {"source": removed, "sources": sources, "sink/hbase/version": "timestamp"}


@pytest.mark.parametrize(("a", "b", "path", "sentence"), REFUSED)
def test_refused(faults, removed, a: Source, b: Source, path: str, sentence: str):
    found = faults(_job(removed, a, b))
    assert list(found) == [path]
    assert sentence in found[path]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({}, {}),
        ({"bootstrap-servers": "other:1"}, {"properties": {"client.id": "x"}}),
        ({"bad-records": {"dead-letter": "d"}}, {"bad-records": {"dead-letter": "d"}}),
        ({"format": "string", "stop": "latest"}, {"group-id": "g"}),
        ({"topic-pattern": "x-.*"}, {"topic-pattern": "y-.*"}),
    ],
)
def test_accepted(faults, removed, a: Source, b: Source):
    assert faults(_job(removed, a, b)) == {}
