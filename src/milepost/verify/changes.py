"""Decodes the envelopes of Debezium and Canal into changes of rows, independently of the sink."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from milepost.verify.decode import (
    Columns,
    Convert,
    Rejected,
    converter,
    field_value,
    loader,
    parse_document,
    parsed_object,
    wrong,
)
from milepost.verify.encoding import Value
from milepost.verify.schema import DataType, Field

Change = tuple[Columns, bool]
"""The columns of one row, and whether the change deletes it."""
Decode = Callable[[bytes | None, bytes | None], list[Change]]
Special = Callable[[DataType, Convert], Convert]
"""Adapts the converter of a type to a dialect."""

_UNAVAILABLE = "__debezium_unavailable_value"
_INTEGER = re.compile(r"-?[0-9]{1,100}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,10})?")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NO_CHANGE = ("CREATE", "ALTER", "RENAME", "CINDEX", "DINDEX", "QUERY", "TIDB_WATERMARK")
_MARKS_OF_NO_CHANGE = ("ts_ms", "ddl", "status")


def change_decoder(
    record_format: str, schema: tuple[Field, ...], *, row_key: tuple[str, ...], nulls: str
) -> Decode | None:
    """Return the function that decodes key and value into changes; None if the format is not a change log."""
    if not {field.name for field in schema}.issuperset(row_key):
        row_key = ()  # derived from the position in the log: no image contains it
    if record_format == "debezium-json":
        return _Debezium(schema, row_key, nulls)
    if record_format == "canal-json":
        return _Canal(schema, row_key)
    return None


class _Images:
    """Decodes the images of rows of `schema`, complete or partial."""

    def __init__(self, schema: tuple[Field, ...], row_key: tuple[str, ...], special: Special) -> None:
        self.load = loader(schema)
        self._row_key = row_key
        self._fields = [(f.name, f.nullable, special(f.type, _lenient(f.type))) for f in schema]

    def whole(self, image: Any) -> Columns:
        row = parsed_object(image)
        return {name: field_value(row.get(name), name, null, read) for name, null, read in self._fields}

    def partial(self, image: Any) -> Columns:
        row = parsed_object(image)
        return {name: field_value(row.get(name), name, True, read) for name, _, read in self._fields}

    def present(self, image: Any) -> Columns:
        """Return only the columns that are in the image, including nulls."""
        return {name: value for name, value in self.partial(image).items() if name in image}

    def key(self, row: Columns) -> tuple[Value, ...] | None:
        """Return the columns of the row key, or None if one of them is missing."""
        parts = tuple(row.get(name) for name in self._row_key)
        return None if None in parts else parts


class _Debezium:
    def __init__(self, schema: tuple[Field, ...], row_key: tuple[str, ...], nulls: str) -> None:
        def special(_type: DataType, read: Convert) -> Convert:
            return lambda value: _available(value, nulls) if value == _UNAVAILABLE else read(value)

        self._images = _Images(schema, row_key, special)

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Change]:
        if value is None:
            row = self._row_of_key(key)
            return [] if row is None else [(row, True)]
        envelope = parse_document(value, self._images.load)
        if "payload" in envelope:
            if envelope["payload"] is None:
                raise Rejected("NULL_DOCUMENT", "payload")
            envelope = parsed_object(envelope["payload"])
        before = self._image(envelope, "before", self._images.partial)
        after = self._image(envelope, "after", self._images.whole)
        if "op" not in envelope:
            if any(mark in envelope for mark in _MARKS_OF_NO_CHANGE):
                return []
            raise Rejected("WRONG_SCHEMA", "no op")
        return self._changes(envelope["op"], key, before, after)

    def _changes(
        self, op: Any, key: bytes | None, before: Columns | None, after: Columns | None
    ) -> list[Change]:
        if op == "m":
            return []
        if op in ("c", "r", "u"):
            if after is None:
                raise Rejected("WRONG_SCHEMA", "after is null")
            old = self._images.key(before) if op == "u" and before is not None else None
            moved = old is not None and self._images.key(after) not in (None, old)
            return [(before, True), (after, False)] if moved and before is not None else [(after, False)]
        if op == "d":
            row = before if before and self._images.key(before) is not None else self._row_of_key(key)
            if row is None:
                raise Rejected("WRONG_SCHEMA", "before is null")
            return [(row, True)]
        raise Rejected("UNKNOWN_OP", str(op))

    @staticmethod
    def _image(envelope: dict[str, Any], name: str, read: Callable[[Any], Columns]) -> Columns | None:
        image = envelope.get(name)
        return None if image is None else read(image)

    def _row_of_key(self, key: bytes | None) -> Columns | None:
        """Return the row for the key of the record, if the key is JSON and complete."""
        if key is None:
            return None
        try:
            document = parse_document(key, self._images.load)
            payload = document.get("payload")
            row = self._images.partial(payload if isinstance(payload, dict) else document)
        except Rejected:
            return None
        has_any = any(part is not None for part in row.values())
        return row if has_any and self._images.key(row) is not None else None


class _Canal:
    def __init__(self, schema: tuple[Field, ...], row_key: tuple[str, ...]) -> None:
        self._images = _Images(schema, row_key, lambda kind, read: _latin1 if kind.name == "binary" else read)

    def __call__(self, _key: bytes | None, value: bytes | None) -> list[Change]:
        if value is None:
            return []
        message = parse_document(value, self._images.load)
        data = [self._images.whole(row) for row in _rows(message.get("data"))]
        old = [self._images.present(row) for row in _rows(message.get("old"))]
        if "type" not in message:
            raise Rejected("WRONG_SCHEMA", "no type")
        kind = message["type"]
        if kind in _NO_CHANGE:
            return []
        if kind not in ("INSERT", "UPDATE", "DELETE"):
            raise Rejected("UNKNOWN_OP", str(kind))
        if not data:
            raise Rejected("WRONG_SCHEMA", "no data")
        left = self._left(data, old) if kind == "UPDATE" else []
        return [(row, True) for row in left] + [(row, kind == "DELETE") for row in data]

    def _left(self, data: list[Columns], old: list[Columns]) -> list[Columns]:
        """Return the old images of rows that moved, except for keys that another row of the message now has."""
        taken = [self._images.key(row) for row in data]
        before = [row | changed for row, changed in zip(data, old, strict=False)]
        return [
            row
            for row in before
            if None not in taken and self._images.key(row) is not None and self._images.key(row) not in taken
        ]


def _rows(value: Any) -> list[Any]:
    if value is None:
        return []
    if type(value) is not list:
        raise Rejected("WRONG_SCHEMA", "not a list of rows")
    return value


def _available(value: Any, nulls: str) -> Value:
    return None if nulls == "skip" else wrong(value, "value that is there")


def _latin1(value: Any) -> Value:
    try:
        return value.encode("latin-1") if type(value) is str else wrong(value, "binary")
    except UnicodeEncodeError:
        return wrong(value, "binary")


def _lenient(data_type: DataType) -> Convert:
    """Return a converter that also accepts numbers and booleans as text."""
    strict, name = converter(data_type), data_type.name
    if name == "boolean":
        return lambda value: strict(_BOOLEANS.get(value, value) if type(value) in (str, int) else value)
    if name in _INTEGERS:
        return lambda value: strict(int(value) if _is_text(_INTEGER, value) else value)
    if name in ("float", "double", "decimal"):
        return lambda value: strict(Decimal(value) if _is_text(_NUMBER, value) else value)
    return strict


_BOOLEANS: dict[Any, bool] = {"1": True, "true": True, 1: True, "0": False, "false": False, 0: False}


def _is_text(pattern: re.Pattern[str], value: Any) -> bool:
    return type(value) is str and pattern.fullmatch(value) is not None
