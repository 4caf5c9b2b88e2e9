"""A DDL string is read without Spark."""

from __future__ import annotations

import pytest

from milepost.errors import PreflightError
from milepost.verify.schema import DataType, Field, parse_schema


def test_simple_columns_are_read() -> None:
    assert parse_schema("id STRING NOT NULL, amount double, n LONG COMMENT 'it''s'") == (
        Field("id", DataType("string"), nullable=False),
        Field("amount", DataType("double")),
        Field("n", DataType("bigint")),
    )


def test_names_may_be_quoted_and_colons_are_allowed() -> None:
    names = [field.name for field in parse_schema("`a b` INT, `x``y`: INT, z: INT")]
    assert names == ["a b", "x`y", "z"]


def test_decimals_have_defaults() -> None:
    types = [field.type for field in parse_schema("a DECIMAL, b DECIMAL(5), c NUMERIC(38, 18)")]
    assert [(t.precision, t.scale) for t in types] == [(10, 0), (5, 0), (38, 18)]


def test_nested_types_are_read() -> None:
    (field,) = parse_schema("a ARRAY<STRUCT<x: INT, y: MAP<STRING, DECIMAL(3,1)>>>")
    assert field.type.element is not None
    x, y = field.type.element.fields
    assert (x.name, x.type.name, y.type.name) == ("x", "int", "map")
    assert y.type.fields[1].type == DataType("decimal", precision=3, scale=1)


@pytest.mark.parametrize(
    "ddl", ["", "a", "a INT,", "a INT b INT", "a INTERVAL", "a ARRAY<INT", "a INT NOT", "a ;"]
)
def test_what_is_no_schema_is_refused(ddl: str) -> None:
    with pytest.raises(PreflightError, match="schema"):
        parse_schema(ddl)
