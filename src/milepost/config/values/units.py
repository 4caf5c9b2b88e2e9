"""Parses and formats durations and sizes.

Sizes are binary whatever the spelling (`1kb` = `1 KiB` = 1024 bytes), as in Spark, Flink and HBase.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

_MAX_TEXT = 64
_MAX_SIZE = 2**63 - 1

# Largest first: the order in which a compound such as 1h30m is read and written.
_MILLISECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_DURATION_WORDS = {
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
}
_BYTES = {"tb": 1 << 40, "gb": 1 << 30, "mb": 1 << 20, "kb": 1 << 10, "b": 1}
_SIZE_WORDS = {
    **dict.fromkeys(("", "b", "byte", "bytes"), "b"),
    **{word: f"{letter}b" for letter in "kmgt" for word in (letter, f"{letter}b", f"{letter}ib")},
}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")

_DURATION_EXAMPLES = "write for example 10s, 5 min, 1h30m or 250ms"
_SIZE_EXAMPLES = "write for example 8mb, 64 KiB or 1g"


def parse_duration(value: object) -> timedelta:
    """Return the duration; raises ValueError with a message for the user."""
    if isinstance(value, timedelta):
        return _whole_milliseconds(value)
    if isinstance(value, str):
        return _duration_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a duration; {_DURATION_EXAMPLES}")
    if value == 0:
        return timedelta(0)
    if value < 0:
        raise ValueError("must not be negative")
    raise ValueError(f"{value} has no unit; {_DURATION_EXAMPLES}")


def format_duration(value: timedelta) -> str:
    """Return the shortest text that `parse_duration` parses as the same duration."""
    rest = value // timedelta(milliseconds=1)
    parts = []
    for unit, milliseconds in _MILLISECONDS.items():
        count, rest = divmod(rest, milliseconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(value: object) -> int:
    """Return the number of bytes; raises ValueError with a message for the user."""
    if isinstance(value, str):
        return _size_of(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a size; {_SIZE_EXAMPLES}")
    return _bounded(Fraction(value))


def format_size(value: int) -> str:
    """Return the size in the largest unit that divides it."""
    unit, count = next((u, n) for u, n in _BYTES.items() if value % n == 0 and (value or u == "b"))
    return f"{value // count}{unit}"


def _duration_of(text: str) -> timedelta:
    written = text.strip().lower()
    if written.startswith("-"):
        raise ValueError("must not be negative")
    if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})?", written):
        if float(written) == 0:
            return timedelta(0)
        raise ValueError(f"{written} has no unit; {_DURATION_EXAMPLES}")
    parts = _parts(written, f"is not a duration; {_DURATION_EXAMPLES}")
    units = [_DURATION_WORDS.get(word) for _, word in parts]
    if None in units or units != [unit for unit in _MILLISECONDS if unit in units]:
        raise ValueError(f"is not a duration; {_DURATION_EXAMPLES}")
    total = sum(number * _MILLISECONDS[unit] for (number, _), unit in zip(parts, units, strict=True) if unit)
    if total != int(total):
        raise ValueError("is not a whole number of milliseconds")
    try:
        return timedelta(milliseconds=int(total))
    except OverflowError:
        raise ValueError("is too long") from None


def _size_of(text: str) -> int:
    written = text.strip().lower()
    if written.startswith("-"):
        raise ValueError("must not be negative")
    parts = _parts(written, f"is not a size; {_SIZE_EXAMPLES}")
    if len(parts) != 1 or parts[0][1] not in _SIZE_WORDS:
        raise ValueError(f"is not a size; {_SIZE_EXAMPLES}")
    number, word = parts[0]
    return _bounded(number * _BYTES[_SIZE_WORDS[word]])


def _parts(written: str, otherwise: str) -> list[tuple[Fraction, str]]:
    if len(written) > _MAX_TEXT:
        raise ValueError(otherwise)
    parts, at = [], 0
    while at < len(written):
        match = _PART.match(written, at)
        if match is None:
            raise ValueError(otherwise)
        parts.append((Fraction(match[1]), match[2]))
        at = match.end()
    if not parts:
        raise ValueError(otherwise)
    return parts


def _bounded(number: Fraction) -> int:
    if number < 0:
        raise ValueError("must not be negative")
    if number != int(number):
        raise ValueError("is not a whole number of bytes")
    if number > _MAX_SIZE:
        raise ValueError("is too large")
    return int(number)


def _whole_milliseconds(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("must not be negative")
    if value % timedelta(milliseconds=1):
        raise ValueError("is not a whole number of milliseconds")
    return value
