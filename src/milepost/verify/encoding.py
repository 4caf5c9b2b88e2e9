"""Encodes values as documented: a second implementation on purpose.

The encoder of the sink is in Java. No code is shared, so a defect in either shows as a difference.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from milepost.errors import PreflightError
from milepost.verify.schema import DataType

# str, bytes, bool, int, float, Decimal, list or dict; dates are days, timestamps microseconds since 1970.
Value = Any
Encode = Callable[[Value], bytes]
EncodeKey = Callable[[Sequence[Value]], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NATIVE_WIDTH = {
    "tinyint": ">b",
    "smallint": ">h",
    "int": ">i",
    "bigint": ">q",
    "float": ">f",
    "double": ">d",
    "date": ">i",
    "timestamp": ">q",
    "timestamp_ntz": ">q",
}
_MAX_PLAIN = Decimal(10**7)
_MIN_PLAIN = Decimal("0.001")


def value_encoder(data_type: DataType, encoding: str) -> Encode:
    """Return the function that encodes a non-null value of the type."""
    if encoding == "native":
        return _native(data_type)
    if encoding == "string":
        return _utf8(text_of(data_type))
    return lambda value: json_text(value, data_type).encode()


def row_key_encoder(types: Sequence[DataType], encoding: str, salt: int = 0) -> EncodeKey:
    """Return the function that encodes non-null components as a row key."""
    # Keys must sort and be easy to type, so they have no JSON quotes.
    form = "string" if encoding == "json" else encoding
    encoders = [value_encoder(data_type, form) for data_type in types]
    if len(encoders) == 1:
        unsalted: EncodeKey = lambda components: encoders[0](components[0])  # noqa: E731 - one of three forms
    elif form == "native":
        unsalted = _composite_native(types, encoders)
    else:
        unsalted = _composite_text(encoders)
    if not salt:
        return unsalted
    return lambda components: salted(unsalted(components), salt)


def salted(key: bytes, buckets: int) -> bytes:
    """Return the key with its leading salt byte."""
    return bytes([murmur3_32(key) % buckets]) + key


def murmur3_32(data: bytes, seed: int = 0) -> int:
    """Return the 32-bit x86 MurmurHash3 as a signed number, as in Java."""
    mask = 0xFFFFFFFF
    h = seed
    tail = len(data) & 3
    body = len(data) - tail
    for (k,) in struct.iter_unpack("<I", data[:body]):
        h ^= _scramble(k)
        h = ((h << 13) | (h >> 19)) & mask
        h = (h * 5 + 0xE6546B64) & mask
    if tail:
        h ^= _scramble(int.from_bytes(data[body:], "little"))
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h


def _scramble(k: int) -> int:
    k = (k * 0xCC9E2D51) & 0xFFFFFFFF
    k = ((k << 15) | (k >> 17)) & 0xFFFFFFFF
    return (k * 0x1B873593) & 0xFFFFFFFF


def same_number(left: bytes, right: bytes) -> bool:
    """Return whether two texts are the same number: JDKs before 19 print some doubles with an extra digit."""
    try:
        return float(left) == float(right)
    except ValueError:
        return left == right


def _composite_native(types: Sequence[DataType], encoders: Sequence[Encode]) -> EncodeKey:
    last = len(types) - 1
    fixed = {*_NATIVE_WIDTH, "boolean"}
    ended = [data_type.name not in fixed and i < last for i, data_type in enumerate(types)]

    def key(components: Sequence[Value]) -> bytes:
        parts = []
        for component, encode, is_ended in zip(components, encoders, ended, strict=True):
            part = encode(component)
            parts.append(part.replace(b"\0", b"\0\xff") + b"\0\x01" if is_ended else part)
        return b"".join(parts)

    return key


def _composite_text(encoders: Sequence[Encode]) -> EncodeKey:
    def key(components: Sequence[Value]) -> bytes:
        return b"|".join(
            encode(component).replace(b"\\", b"\\\\").replace(b"|", b"\\|")
            for component, encode in zip(components, encoders, strict=True)
        )

    return key


def _native(data_type: DataType) -> Encode:
    name = data_type.name
    if name in _NATIVE_WIDTH:
        return struct.Struct(_NATIVE_WIDTH[name]).pack
    if name == "string":
        return str.encode
    if name == "binary":
        return bytes
    if name == "boolean":
        return lambda value: b"\xff" if value else b"\0"
    if name == "decimal":
        return lambda value: _native_decimal(value, data_type.scale)
    raise PreflightError(
        f"A column of type {name.upper()} has no native encoding",
        why="HBase's Bytes supports only single values",
        fix="Use encoding: json",
    )


def _native_decimal(value: Decimal, scale: int) -> bytes:
    unscaled = int(value.scaleb(scale))
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return struct.pack(">i", scale) + unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _utf8(text: Callable[[Value], str | bytes]) -> Encode:
    def encode(value: Value) -> bytes:
        form = text(value)
        return form if isinstance(form, bytes) else form.encode()

    return encode


def text_of(data_type: DataType) -> Callable[[Value], str | bytes]:
    """Return the function that formats a value like CAST AS STRING."""
    name = data_type.name
    if name == "decimal":
        return lambda value: f"{value:.{data_type.scale}f}"
    if data_type.is_nested:
        raise PreflightError(
            f"A column of type {name.upper()} has no string encoding that can be checked",
            fix="Use encoding: json",
        )
    return _TEXTS.get(name, str)


def _same(value: Any) -> Any:
    return value


def _date_text(days: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _timestamp_text(micros: int) -> str:
    moment = _EPOCH + timedelta(microseconds=micros)
    text = moment.strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{moment.microsecond:06d}".rstrip("0") if moment.microsecond else text


def java_double(value: float) -> str:
    """Return the result of Java's Double.toString."""
    return _java_number(repr(value))


def java_float(value: float) -> str:
    """Return the result of Java's Float.toString: the shortest text that parses to the same 32 bits."""
    exact = struct.pack(">f", value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        # The largest floats overflow when rounded up.
        with suppress(OverflowError):
            if struct.pack(">f", float(text)) == exact:
                break
    return _java_number(text)


def _java_number(shortest: str) -> str:
    number = Decimal(shortest)
    if not number.is_finite():
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(shortest, "NaN")
    if not number:
        return "-0.0" if number.is_signed() else "0.0"
    if _MIN_PLAIN <= abs(number) < _MAX_PLAIN:
        plain = f"{number.normalize():f}"
        return plain if "." in plain else plain + ".0"
    sign, digit_tuple, _ = number.normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    return f"{'-' if sign else ''}{digits[0]}.{digits[1:] or '0'}E{number.adjusted()}"


_TEXTS: dict[str, Callable[[Value], str | bytes]] = {
    "string": _same,
    "binary": _same,
    "boolean": lambda value: "true" if value else "false",
    "double": java_double,
    "float": java_float,
    "date": _date_text,
    "timestamp": _timestamp_text,
    "timestamp_ntz": _timestamp_text,
}


def json_text(value: Value, data_type: DataType) -> str:
    """Return a value as JSON text; null fields of a struct are omitted, as in Spark's to_json."""
    name = data_type.name
    if value is None:
        return "null"
    if name == "string":
        return json.dumps(value, ensure_ascii=False)
    if name == "binary":
        return json.dumps(base64.b64encode(value).decode())
    if name in ("date", "timestamp", "timestamp_ntz"):
        return json.dumps(_json_moment(value, name))
    if name == "array" and data_type.element is not None:
        return "[" + ",".join(json_text(item, data_type.element) for item in value) + "]"
    if name == "map":
        inner = data_type.fields[1].type
        return _json_object((key, item, inner) for key, item in value.items())
    if name == "struct":
        members = ((field.name, value.get(field.name), field.type) for field in data_type.fields)
        return _json_object(member for member in members if member[1] is not None)
    return str(text_of(data_type)(value))


def _json_object(members: Iterable[tuple[object, Value, DataType]]) -> str:
    parts = (
        f"{json.dumps(str(name), ensure_ascii=False)}:{json_text(item, kind)}" for name, item, kind in members
    )
    return "{" + ",".join(parts) + "}"


def _json_moment(value: int, name: str) -> str:
    if name == "date":
        return _date_text(value)
    moment = _EPOCH + timedelta(microseconds=value)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{moment.microsecond:06d}"
    return text + "Z" if name == "timestamp" else text
