"""Parses and formats row keys: as the values of the columns, or as bytes."""

from __future__ import annotations

import json

from milepost.errors import PreflightError
from milepost.verify.decode import Rejected, converter, format_schema
from milepost.verify.oracle import Mapping, Oracle
from milepost.verify.schema import DataType

_HEX = "hex:"
_PLACES = {
    "_kafka.topic": "string",
    "_kafka.partition": "int",
    "_kafka.offset": "bigint",
    "_kafka.key": "binary",
}


def parse_row_key(text: str, mapping: Mapping | None) -> bytes:
    """Return the bytes of a row key; without a mapping the text is encoded as UTF-8.

    `hex:…` contains the bytes; any other text is the value of a single column, or a JSON list of column values.
    """
    if text.startswith(_HEX):
        try:
            return bytes.fromhex(text.removeprefix(_HEX))
        except ValueError as error:
            raise _unreadable(text, str(error)) from error
    if mapping is None:
        return text.encode()
    types = [_type_of(mapping, name) for name in mapping.row_key]
    values = [text] if len(types) == 1 and types[0].name == "string" else _values(text, types)
    try:
        return Oracle(mapping).row_of(
            [converter(kind)(value) for kind, value in zip(types, values, strict=True)]
        )
    except Rejected as error:
        raise _unreadable(text, str(error)) from error


def format_row_key(row: bytes) -> str:
    """Return a row key as text, or as `hex:…` if it is not printable ASCII."""
    text = row.decode("ascii", errors="replace")
    return text if text.isprintable() and "\ufffd" not in text else f"{_HEX}{row.hex()}"


def _values(text: str, types: list[DataType]) -> list[object]:
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    values = parsed if isinstance(parsed, list) and len(types) > 1 else [parsed]
    if len(values) != len(types):
        raise _unreadable(text, f"the row key has {len(types)} columns, but this has {len(values)} values")
    return values


def _type_of(mapping: Mapping, name: str) -> DataType:
    if name in _PLACES:
        return DataType(_PLACES[name])
    columns = {field.name: field.type for field in format_schema(mapping.record_format, mapping.schema)}
    return columns[name]


def _unreadable(text: str, why: str) -> PreflightError:
    return PreflightError(
        f"{text!r} is not a row key of this table",
        why=why,
        fix='Pass the value of its column, a JSON list such as ["ann", 7] for several, or its bytes as hex:616e6e',
    )
