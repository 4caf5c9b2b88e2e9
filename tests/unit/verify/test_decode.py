"""Records are decoded as documented; what cannot be is rejected with its reason."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from milepost.verify.decode import Rejected, key_value, value_decoder
from milepost.verify.schema import DataType, parse_schema


def decode(ddl: str, value: object) -> Any:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return value_decoder("json", parse_schema(ddl))(None, data)


def reason(ddl: str, value: object) -> str:
    with pytest.raises(Rejected) as caught:
        decode(ddl, value)
    return caught.value.reason


def test_raw_and_string_have_key_and_value() -> None:
    assert value_decoder("raw", ())(b"k", b"\xff") == {"key": b"k", "value": b"\xff"}
    assert value_decoder("string", ())(None, "é".encode()) == {"key": None, "value": "é"}
    with pytest.raises(Rejected, match="MALFORMED"):
        value_decoder("string", ())(None, b"\xff")


def test_missing_fields_are_null_and_undeclared_ones_ignored() -> None:
    assert decode("a INT, b STRING", {"b": "x", "c": [1]}) == {"a": None, "b": "x"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", "EMPTY_VALUE"),
        (b"null", "NULL_DOCUMENT"),
        (b'"null"', "WRONG_SCHEMA"),
        (b"[1]", "WRONG_SCHEMA"),
        (b'{"a":1', "MALFORMED"),
        (b'\xef\xbb\xbf{"a":1}', "MALFORMED"),
        (b'{"a":NaN}', "MALFORMED"),
        (b'{"a":1,"a":2}', "MALFORMED"),
        (b'{"a":1} x', "MALFORMED"),
        (b'{"z":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "MALFORMED"),
        (b'{"a":"1"}', "WRONG_SCHEMA"),
        (b'{"a":1.0}', "WRONG_SCHEMA"),
        (b'{"a":true}', "WRONG_SCHEMA"),
        (b'{"a":2147483648}', "WRONG_SCHEMA"),
    ],
)
def test_bad_documents_are_rejected_with_their_reason(value: bytes, expected: str) -> None:
    assert reason("a INT", value) == expected


def test_a_required_field_must_be_there() -> None:
    assert reason("a INT NOT NULL", {}) == "WRONG_SCHEMA"
    assert reason("a INT NOT NULL", {"a": None}) == "WRONG_SCHEMA"


def test_a_key_twice_inside_an_undeclared_field_is_nobodys_business() -> None:
    assert decode("a INT", b'{"a":1,"z":{"x":1,"x":2}}') == {"a": 1}
    assert reason("a STRUCT<x: INT>", b'{"a":{"x":1,"x":2}}') == "MALFORMED"


def test_brackets_in_text_are_no_nesting() -> None:
    assert decode("a STRING", {"a": '\\"[' * 2000}) == {"a": '\\"[' * 2000}


def test_half_a_surrogate_pair_is_malformed() -> None:
    assert reason("a STRING", b'{"a":"\\ud800"}') == "MALFORMED"


@pytest.mark.parametrize(
    ("ddl", "value", "expected"),
    [
        ("DOUBLE", 1, 1.0),
        ("FLOAT", 0.1, 0.10000000149011612),
        ("DECIMAL(4,2)", 12.3, Decimal("12.30")),
        ("DECIMAL(38,0)", 10**37, Decimal(10**37)),
        ("BINARY", "AP8=", b"\0\xff"),
        ("DATE", "1970-01-02", 1),
        ("TIMESTAMP", "1970-01-01T01:00:00.1234567+01:00", 123456),
        ("TIMESTAMP", "1970-01-01 00:01Z", 60_000_000),
        ("TIMESTAMP", 5, 5000),
        ("TIMESTAMP_NTZ", "1970-01-01T00:00:00.5", 500_000),
        ("ARRAY<INT>", [1, None], [1, None]),
        ("MAP<STRING, INT>", {"a": 1}, {"a": 1}),
        ("STRUCT<x: INT, y: INT>", {"x": 1}, {"x": 1, "y": None}),
    ],
)
def test_values_become_typed(ddl: str, value: object, expected: object) -> None:
    assert decode(f"a {ddl}", {"a": value}) == {"a": expected}


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        ("STRING", 1),
        ("BOOLEAN", 1),
        ("DOUBLE", "1"),
        ("DOUBLE", True),
        ("FLOAT", 1e300),
        ("DECIMAL(4,2)", 123),
        ("DECIMAL(4,2)", 0.001),
        ("BINARY", "AP8"),
        ("BINARY", 1),
        ("DATE", "1970-02-30"),
        ("DATE", "19700101"),
        ("TIMESTAMP", "1970-01-01T00:00:00"),
        ("TIMESTAMP_NTZ", "1970-01-01T00:00:00Z"),
        ("TIMESTAMP", "1970-01-01T25:00:00Z"),
        ("ARRAY<INT>", {"a": 1}),
        ("MAP<STRING, INT>", [1]),
        ("STRUCT<x: INT>", 1),
    ],
)
def test_values_of_another_type_are_rejected(ddl: str, value: object) -> None:
    assert reason(f"a {ddl}", {"a": value}) == "WRONG_SCHEMA"


def test_a_number_too_large_for_a_double_is_rejected() -> None:
    assert reason("a DOUBLE", b'{"a":1e400}') == "WRONG_SCHEMA"


def test_a_tombstones_key_becomes_the_row_key_column() -> None:
    assert key_value(b"k", DataType("string")) == "k"
    assert key_value(b"\xff", DataType("binary")) == b"\xff"
    assert key_value(b"-7", DataType("int")) == -7


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (None, "string"),
        (b"\xff", "string"),
        (b"x", "int"),
        (b" 1", "int"),
        (b"1_0", "int"),
        (b"300", "tinyint"),
        (b"1.5", "double"),
    ],
)
def test_a_tombstones_key_that_does_not_fit_is_a_bad_row_key(key: bytes | None, name: str) -> None:
    with pytest.raises(Rejected, match="BAD_ROW_KEY"):
        key_value(key, DataType(name))
