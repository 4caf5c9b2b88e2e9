"""Decodes the formats raw, string and json into typed columns, independently of the sink; see also changes."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal, InvalidOperation
from typing import Any, cast

from milepost.verify.encoding import Value
from milepost.verify.schema import DataType, Field

Columns = dict[str, Value]
Convert = Callable[[Any], Value]

_DEEPEST = 1000
_EXACT = Context(prec=100)
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?(?:\[.*\])?",
    re.ASCII,
)
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


class Repeated(dict[str, Any]):
    """A JSON object with a repeated key; an error only if the object is used."""


class Rejected(Exception):
    """A bad record, with the documented reason."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Keep the reason, which is counted."""
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


def value_decoder(record_format: str, schema: tuple[Field, ...]) -> Callable[[bytes | None, bytes], Columns]:
    """Return the function that decodes key and non-null value into columns."""
    if record_format == "raw":
        return lambda key, value: {"key": key, "value": value}
    if record_format == "string":
        return lambda key, value: {"key": None if key is None else _utf8(key), "value": _utf8(value)}
    return _json_decoder(schema)


def format_schema(record_format: str, schema: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the columns of the format."""
    if record_format not in ("raw", "string"):
        return schema
    kind = DataType("binary" if record_format == "raw" else "string")
    return (Field("key", kind), Field("value", kind))


def key_value(key: bytes | None, data_type: DataType) -> Value:
    """Return the Kafka key of a tombstone as a value of the row-key column."""
    if key is None:
        raise Rejected("BAD_ROW_KEY", "neither key nor value")
    if data_type.name == "binary":
        return key
    try:
        text = key.decode()
    except UnicodeDecodeError:
        raise Rejected("BAD_ROW_KEY", "the key of a tombstone is not UTF-8") from None
    if data_type.name == "string":
        return text
    try:
        # Java accepts neither blanks nor underscores in a number, Python's int() accepts both.
        if data_type.name not in _BITS or text.strip() != text or "_" in text:
            raise ValueError
        number = int(text)
    except ValueError:
        raise Rejected("BAD_ROW_KEY", f"the key {text!r} is not a valid {data_type.name.upper()}") from None
    return _in_range(number, data_type.name, reason="BAD_ROW_KEY")


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Rejected("MALFORMED", "invalid UTF-8") from None


def _json_decoder(schema: tuple[Field, ...]) -> Callable[[bytes | None, bytes], Columns]:
    fields = [(field.name, field.nullable, converter(field.type)) for field in schema]
    load = loader(schema)

    def decode(_key: bytes | None, value: bytes) -> Columns:
        document = parse_document(value, load)
        return {
            name: field_value(document.get(name), name, nullable, convert)
            for name, nullable, convert in fields
        }

    return decode


def loader(schema: tuple[Field, ...]) -> Callable[[str], Any]:
    """Return the function that parses JSON text; numbers stay exact if a column needs it."""
    exact = any(_holds_decimal(field.type) for field in schema)
    return json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=_no_constant, parse_float=Decimal if exact else None
    ).decode


def parse_document(value: bytes, load: Callable[[str], Any]) -> dict[str, Any]:
    """Return the JSON object, or reject the record."""
    if not value:
        raise Rejected("EMPTY_VALUE")
    try:
        if _is_too_deep(value):
            raise ValueError("it is nested too deeply")
        document = load(value.decode())
    except (ValueError, RecursionError) as error:
        raise Rejected("MALFORMED", str(error)) from None
    if document is None:
        raise Rejected("NULL_DOCUMENT")
    return parsed_object(document)


def parsed_object(value: Any) -> dict[str, Any]:
    """Return a parsed value that must be an object without repeated keys."""
    if type(value) is not dict:
        wrong(value, "object")
    return cast("dict[str, Any]", value)


def field_value(value: Any, name: str, nullable: bool, convert: Convert) -> Value:
    """Return the value of a column; null is allowed only for nullable columns."""
    if value is not None:
        return convert(value)
    if nullable:
        return None
    raise Rejected("WRONG_SCHEMA", f"{name} is missing")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    return document if len(document) == len(pairs) else Repeated(document)


def _is_too_deep(value: bytes) -> bool:
    if value.count(b"[") + value.count(b"{") <= _DEEPEST:
        return False
    depth = 0
    for byte in _JSON_STRING.sub(b"", value):
        depth += (byte in b"[{") - (byte in b"]}")
        if depth > _DEEPEST:
            return True
    return False


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _holds_decimal(data_type: DataType) -> bool:
    parts = [field.type for field in data_type.fields] + ([data_type.element] if data_type.element else [])
    return data_type.name == "decimal" or any(_holds_decimal(part) for part in parts)


def converter(data_type: DataType) -> Convert:
    """Return the function that converts a non-null JSON value to the type, or rejects it."""
    name = data_type.name
    if name in ("array", "map", "struct"):
        return _nested(data_type)
    if name in _BITS:
        return lambda value: _in_range(value, name) if type(value) is int else wrong(value, name)
    if name == "decimal":
        return lambda value: _decimal(value, data_type)
    return {
        "string": _string,
        "boolean": lambda value: value if type(value) is bool else wrong(value, name),
        "double": lambda value: _float(value, name),
        "float": lambda value: _float(value, name),
        "binary": _binary,
        "date": _date,
        "timestamp": lambda value: _timestamp(value, name),
        "timestamp_ntz": lambda value: _timestamp(value, name),
    }[name]


def wrong(value: object, name: str) -> Value:
    """Reject a value that is not of the type."""
    if isinstance(value, Repeated):
        raise Rejected("MALFORMED", "a key is repeated")
    raise Rejected("WRONG_SCHEMA", f"{str(value)[:40]!r} is not a valid {name.upper()}")


def _in_range(number: int, name: str, reason: str = "WRONG_SCHEMA") -> int:
    limit = 1 << _BITS[name]
    if -limit <= number < limit:
        return number
    raise Rejected(reason, f"{number} does not fit {name.upper()}")


def _string(value: Any) -> Value:
    if type(value) is not str:
        return wrong(value, "string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Rejected("MALFORMED", "half of a surrogate pair") from None
    return value


def _float(value: Any, name: str) -> Value:
    if type(value) not in (int, float, Decimal):
        return wrong(value, name)
    try:
        number = float(value)
        if name == "float":
            number = struct.unpack(">f", struct.pack(">f", number))[0]
    except OverflowError:
        return wrong(value, name)
    return number if math.isfinite(number) else wrong(value, name)


def _decimal(value: Any, data_type: DataType) -> Value:
    if type(value) not in (int, Decimal):
        return wrong(value, data_type.name)
    try:
        number = Decimal(value)
        scaled = number.quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
    except InvalidOperation:
        return wrong(value, data_type.name)
    if scaled != number or len(scaled.as_tuple().digits) > data_type.precision:
        return wrong(value, data_type.name)
    return scaled


def _binary(value: Any) -> Value:
    try:
        return base64.b64decode(value, validate=True) if type(value) is str else wrong(value, "binary")
    except (TypeError, ValueError, binascii.Error):
        return wrong(value, "binary")


def _date(value: Any) -> Value:
    try:
        # Newer versions of Python also accept week dates and dates without dashes.
        if len(value) != len("2026-01-31"):
            raise ValueError
        return (date.fromisoformat(value) - date(1970, 1, 1)).days
    except (TypeError, ValueError):
        return wrong(value, "date")


def _timestamp(value: Any, name: str) -> Value:
    """Return microseconds from text with a time zone or from epoch milliseconds; a local time has no zone."""
    if name == "timestamp" and type(value) is int:
        return _in_range(value * 1000, "bigint")
    match = _TIME.fullmatch(value) if type(value) is str else None
    if match is None or (match[6] is None) != (name == "timestamp_ntz"):
        return wrong(value, name)
    day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second or '00'}").replace(
            tzinfo=timezone.utc
        )
    except ValueError:
        return wrong(value, name)
    gap = moment - datetime(1970, 1, 1, tzinfo=timezone.utc) - _zone_offset(zone)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + int((fraction or "0").ljust(6, "0")[:6])


def _zone_offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset


def _nested(data_type: DataType) -> Convert:
    if data_type.element is not None:
        item = _or_null(converter(data_type.element))
        return lambda value: [item(v) for v in value] if type(value) is list else wrong(value, "array")
    if data_type.name == "map":
        entry = _or_null(converter(data_type.fields[1].type))
        return lambda value: (
            {k: entry(v) for k, v in value.items()} if type(value) is dict else wrong(value, "map")
        )
    fields = {field.name: _or_null(converter(field.type)) for field in data_type.fields}

    def convert(value: Any) -> Value:
        if type(value) is not dict:
            return wrong(value, "struct")
        return {name: inner(value.get(name)) for name, inner in fields.items()}

    return convert


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)
