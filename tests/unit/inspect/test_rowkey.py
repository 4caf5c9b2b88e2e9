"""Row keys as people write them."""

from __future__ import annotations

import pytest

from milepost.errors import PreflightError
from milepost.inspect.rowkey import format_row_key, parse_row_key
from milepost.verify.oracle import Mapping, Oracle, Record
from milepost.verify.schema import parse_schema


def mapping(*columns: str, encoding: str = "native", salt: int = 0) -> Mapping:
    return Mapping(
        record_format="json",
        schema=parse_schema("id STRING, day DATE, n BIGINT"),
        row_key=columns,
        columns=(("d", "n", "n"),),
        encoding=encoding,
        salt=salt,
    )


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("ann", ("id",), b"ann"),
        ("7", ("id",), b"7"),
        ("7", ("n",), (7).to_bytes(8, "big")),
        ("hex:00ff", ("n",), b"\0\xff"),
    ],
)
def test_one_column_is_its_value(text: str, columns: tuple[str, ...], expected: bytes) -> None:
    assert parse_row_key(text, mapping(*columns)) == expected


def test_several_columns_and_a_salt_are_what_a_record_makes() -> None:
    for salt in (0, 16):
        keyed = mapping("id", "day", "n", salt=salt)
        record = Record("t", 0, 0, 0, b"k", b'{"id": "ann", "day": "2026-11-15", "n": 7}')
        (effect,) = Oracle(keyed).effects(record)
        assert parse_row_key('["ann", "2026-11-15", 7]', keyed) == effect.row


def test_without_a_mapping_a_text_is_its_bytes() -> None:
    assert parse_row_key("jürgen", None) == "jürgen".encode()
    assert parse_row_key("hex:0a", None) == b"\n"


@pytest.mark.parametrize(
    ("text", "columns"),
    [("x", ("n",)), ('["ann"]', ("id", "n")), ("hex:zz", ("id",)), ('["a", "b"]', ("id", "n"))],
)
def test_what_is_no_key_is_refused(text: str, columns: tuple[str, ...]) -> None:
    with pytest.raises(PreflightError, match="is not a row key"):
        parse_row_key(text, mapping(*columns))


def test_a_key_is_shown_so_that_it_can_be_typed() -> None:
    assert (format_row_key(b"ann"), format_row_key(b"\0\xff"), format_row_key("ü".encode())) == (
        "ann",
        "hex:00ff",
        "hex:c3bc",
    )
