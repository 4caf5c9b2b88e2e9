"""The checker's encodings are the documented ones, byte for byte."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.errors import PreflightError
from milepost.verify.encoding import (
    java_double,
    java_float,
    murmur3_32,
    row_key_encoder,
    salted,
    same_number,
    value_encoder,
)
from milepost.verify.schema import DataType, parse_schema

STRING, INT, BINARY, BIGINT = DataType("string"), DataType("int"), DataType("binary"), DataType("bigint")


@pytest.mark.parametrize(
    ("ddl", "value", "native", "text", "json"),
    [
        ("STRING", 'ä"', b'\xc3\xa4"', 'ä"', '"ä\\""'),
        ("BINARY", b"\0\xff", b"\0\xff", b"\0\xff", '"AP8="'),
        ("BOOLEAN", True, b"\xff", "true", "true"),
        ("BOOLEAN", False, b"\0", "false", "false"),
        ("TINYINT", -2, b"\xfe", "-2", "-2"),
        ("SMALLINT", -2, b"\xff\xfe", "-2", "-2"),
        ("INT", 1, b"\0\0\0\x01", "1", "1"),
        ("BIGINT", -1, b"\xff" * 8, "-1", "-1"),
        ("DOUBLE", 1.5, b"\x3f\xf8" + b"\0" * 6, "1.5", "1.5"),
        ("FLOAT", 0.5, b"\x3f\0\0\0", "0.5", "0.5"),
        ("DECIMAL(5,2)", Decimal("-1.28"), b"\0\0\0\x02\x80", "-1.28", "-1.28"),
        ("DECIMAL(5,2)", Decimal("1.28"), b"\0\0\0\x02\0\x80", "1.28", "1.28"),
        ("DECIMAL(9,8)", Decimal("0.00000001"), b"\0\0\0\x08\x01", "0.00000001", None),
        ("DATE", 20000, b"\0\0\x4e\x20", "2024-10-04", '"2024-10-04"'),
        ("TIMESTAMP", 1, b"\0" * 7 + b"\x01", "1970-01-01 00:00:00.000001", '"1970-01-01T00:00:00.000001Z"'),
        ("TIMESTAMP_NTZ", 10**6, None, "1970-01-01 00:00:01", '"1970-01-01T00:00:01.000000"'),
    ],
)
def test_values_are_encoded_as_documented(
    ddl: str, value: Any, native: bytes | None, text: str | bytes, json: str | None
) -> None:
    (field,) = parse_schema(f"x {ddl}")
    if native is not None:
        assert value_encoder(field.type, "native")(value) == native
    assert value_encoder(field.type, "string")(value) == (text if isinstance(text, bytes) else text.encode())
    if json is not None:
        assert value_encoder(field.type, "json")(value) == json.encode()


def test_nested_values_are_json_without_null_fields() -> None:
    (field,) = parse_schema("x STRUCT<a: ARRAY<INT>, b: MAP<STRING, DOUBLE>, c: STRING>")
    value = {"a": [1, None], "b": {"k": 1e10}, "c": None}
    assert value_encoder(field.type, "json")(value) == b'{"a":[1,null],"b":{"k":1.0E10}}'
    for encoding in ("native", "string"):
        with pytest.raises(PreflightError, match="json"):
            value_encoder(field.type, encoding)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (1.25e-10, "1.25E-10"),
        (-123456789.125, "-1.23456789125E8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (3.4028234663852886e38, "3.4028235E38")]
)
def test_floats_are_written_with_as_few_digits_as_32_bits_need(value: float, text: str) -> None:
    assert java_float(value) == text


def test_a_digit_too_many_is_the_same_number() -> None:
    assert same_number(b"2.0E-3", b"0.002")
    assert same_number(b"2.2250738585072014E-308", b"2.2250738585072014E-308")
    assert not same_number(b"1.0", b"1.1")
    assert not same_number(b"abc", b"1.1")


def test_a_single_key_is_its_encoding_and_json_keys_are_text() -> None:
    assert row_key_encoder([STRING], "native")(["a|b"]) == b"a|b"
    assert row_key_encoder([STRING], "json")(["a|b"]) == b"a|b"
    assert row_key_encoder([INT], "native")([1]) == b"\0\0\0\x01"


def test_composite_native_keys_are_ended_and_escaped() -> None:
    key = row_key_encoder([STRING, INT, BINARY], "native")
    assert key(["a\0b", 7, b"\0"]) == b"a\0\xffb\0\x01" + b"\0\0\0\x07" + b"\0"


def test_composite_text_keys_are_escaped_to_the_last() -> None:
    key = row_key_encoder([STRING, STRING], "string")
    assert key(["a|b", "c\\"]) == b"a\\|b|c\\\\"


TEXT = st.text(alphabet=st.sampled_from(["a", "\0", "\x01", "|", "\\", "\u00ff", "é"]), max_size=6)
PAIR = st.lists(TEXT, min_size=2, max_size=2)


@given(
    st.sampled_from(["native", "string"]),
    st.lists(TEXT, min_size=2, max_size=2),
    st.lists(TEXT, min_size=2, max_size=2),
)
def test_no_two_composite_keys_collide(encoding: str, left: list[str], right: list[str]) -> None:
    key = row_key_encoder([STRING, STRING], encoding)
    assert (key(left) == key(right)) == (left == right)


@pytest.mark.parametrize(
    ("data", "unsigned"),
    [
        (b"", 0),
        (b"test", 0xBA6BD213),
        (b"Hello, world!", 0xC0363E43),
        (b"The quick brown fox jumps over the lazy dog", 0x2E4FF723),
    ],
)
def test_murmur3_is_the_standard_one(data: bytes, unsigned: int) -> None:
    assert murmur3_32(data) % (1 << 32) == unsigned


def test_salt_is_the_floor_mod_of_the_signed_hash() -> None:
    # 0xBA6BD213 is negative in Java: floorMod of it by 7 is not that of the unsigned number.
    assert salted(b"test", 7) == bytes([(0xBA6BD213 - (1 << 32)) % 7]) + b"test"
    assert row_key_encoder([STRING], "string", salt=7)(["test"]) == salted(b"test", 7)
