"""The kinds of value, each by itself."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    Column,
    Count,
    EntryPoint,
    KeyColumns,
    Moment,
    PositiveDuration,
    Size,
    Text,
    Topic,
    Topics,
    matching,
    servers,
)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=timezone.utc)

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (Text, "x", "x"),
    (Count, "5", 5),
    (Size, "1kb", 1024),
    (PositiveDuration, "1s", timedelta(seconds=1)),
    (Topic, "a.b_c-1", "a.b_c-1"),
    (Topics, "a, b", ("a", "b")),
    (Topics, ["a"], ("a",)),
    (Column, "sum(x)", "sum(x)"),
    (KeyColumns, "id", ("id",)),
    (KeyColumns, ["_kafka.topic", "_kafka.partition", "_kafka.offset", "_kafka.key"], None),
    (EntryPoint, "a.b_c:d", "a.b_c:d"),
    (Moment, "2026-01-01T00:00:00Z", NEW_YEAR),
    (Moment, "2026-01-01T01:00:00+01:00", NEW_YEAR),
    (Moment, NEW_YEAR, NEW_YEAR),
]
REFUSED: list[tuple[Any, Any, str]] = [
    (Text, " ", "must not be empty"),
    (Text, 5, "string"),
    (Count, True, "whole number"),
    (Count, 1.5, "integer"),
    (Count, 2**63, "less than or equal"),
    (Size, 0, "greater than or equal"),
    (Size, "3g", "less than or equal"),
    (PositiveDuration, 0, "greater than zero"),
    (Topic, "", "must not be empty"),
    (Topic, "..", "not a topic name"),
    (Topic, "a b", "not a topic name"),
    (Topic, "a" * 250, "not a topic name"),
    (Topic, "__consumer_offsets", "internal topic of Kafka"),
    (Topic, "__transaction_state", "internal topic of Kafka"),
    (Topics, "", "must not be empty"),
    (Topics, [], "must not be empty"),
    (Topics, "a,a", "more than once"),
    (Column, "_kafka", "reserved by Milepost"),
    (Column, "_kafka.offset", "reserved by Milepost"),
    (KeyColumns, [], "must not be empty"),
    (KeyColumns, ["a", "a"], "'a' more than once"),
    (KeyColumns, ["_kafka"], "cannot be part of a row key"),
    (KeyColumns, ["_kafka.timestamp"], "cannot be part of a row key"),
    (EntryPoint, "clean", "module:function"),
    (EntryPoint, "../x:clean", "module:function"),
    (EntryPoint, "a/b:c", "module:function"),
    (Moment, "2026-01-01T00:00:00", "no time zone"),
    (Moment, "2026-01-01", "no time zone"),
    (Moment, "yesterday", "not a timestamp"),
    (Moment, 1700000000000, "must be a timestamp"),
    (Moment, "1969-12-31T00:00:00Z", "before 1970"),
    (Moment, "", "not a timestamp"),
    (Moment, "9999-12-31T23:59:59-14:00", "after the year 9999"),
]


@pytest.mark.parametrize(("kind", "written", "value"), ACCEPTED)
def test_accepted(kind: Any, written: Any, value: Any):
    assert TypeAdapter(kind).validate_python(written) == (tuple(written) if value is None else value)


@pytest.mark.parametrize(("kind", "written", "sentence"), REFUSED)
def test_refused(kind: Any, written: Any, sentence: str):
    with pytest.raises(ValidationError, match=sentence):
        TypeAdapter(kind).validate_python(written)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("localhost:9092", ("localhost:9092",)),
        ("a:1, b:2", ("a:1", "b:2")),
        (["a:1"], ("a:1",)),
        ("[::1]:9092", ("[::1]:9092",)),
        ("a", ("a:7",)),
    ],
)
def test_servers(written: object, value: tuple[str, ...]):
    assert servers("x:7", 7)(written) == value


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("", "is empty"),
        ([], "is empty"),
        ("a", "has no port"),
        ("a:1,", "not host:port"),
        ("a:0", "outside 1 to 65535"),
        ("a:65536", "outside 1 to 65535"),
        ("a:b", "not host:port"),
        ("PLAINTEXT://a:1", "without a scheme"),
        ("a:1,a:1", "more than once"),
        (5, "must be text"),
        ([5], "must be text"),
        (None, "must be text"),
    ],
)
def test_wrong_servers(written: object, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        servers("localhost:9092")(written)


def test_secret_stays_secret_through_every_text_kind():
    secret = Secret("x,y", ["x"])
    values = TypeAdapter(Topics).validate_python(secret)
    assert [type(v) for v in values] == [Secret, Secret]
    assert "x" not in repr(values)
    assert type(TypeAdapter(Text).validate_python(secret)) is Secret
    assert type(servers("h:1", 1)(Secret("host"))[0]) is Secret


def test_secret_is_not_in_a_sentence():
    with pytest.raises(ValueError, match="must be short") as caught:
        matching("x", "must be short")(Secret("hunter2"))
    assert "hunter2" not in str(caught.value)
