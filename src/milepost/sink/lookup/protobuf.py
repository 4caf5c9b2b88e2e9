"""The subset of Protocol Buffers that the look-up needs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _BYTES = 0, 2
_WIDTHS = {1: 8, 5: 4}
"""Fixed-width fields, by wire type; they are skipped."""
_LONGEST_VARINT = 10


def varint(value: int) -> bytes:
    """Return a non-negative number in base 128, lowest group first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def delimited(message: bytes) -> bytes:
    """Return a message, preceded by its length."""
    return varint(len(message)) + message


def field(number: int, value: int | bytes) -> bytes:
    """Return one field: a number, or a string, bytes or message."""
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value)
    return varint(number << 3 | _BYTES) + delimited(value)


def read_delimited(data: bytes) -> tuple[bytes, bytes]:
    """Return the first message and what follows it; raise ValueError if it is incomplete."""
    length, start = _read_varint(data, 0)
    return _cut(data, start, length), data[start + length :]


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field; raise ValueError if the message is malformed."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _read_varint(message, at)
            yield number, _cut(message, at, length)
            at += length
        elif kind in _WIDTHS:
            _cut(message, at, _WIDTHS[kind])
            at += _WIDTHS[kind]
        else:
            raise ValueError(f"unknown wire type {kind}")


def strings(message: bytes, number: int) -> list[bytes]:
    """Return every value of a field of strings, bytes or messages."""
    return [value for at, value in fields(message) if at == number and isinstance(value, bytes)]


def only(message: bytes, number: int) -> bytes:
    """Return the value of a required field; raise ValueError if it is missing."""
    values = strings(message, number)
    if not values:
        raise ValueError(f"field {number} is missing")
    return values[-1]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("a number is incomplete")


def _cut(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise ValueError("a value is incomplete")
    return data[at : at + length]
