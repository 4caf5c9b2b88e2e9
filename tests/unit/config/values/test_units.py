"""Durations and sizes: what people write, and what is refused with a sentence."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.config.values.units import (
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)

DURATIONS = [
    ("10s", 10),
    ("5 min", 300),
    ("1h30m", 5400),
    ("1 h 30 m", 5400),
    ("250ms", 0.25),
    ("1.5s", 1.5),
    ("2 Days", 172800),
    (" 1 Hour ", 3600),
    (0, 0),
    (0.0, 0),
    ("0", 0),
    ("0s", 0),
    (timedelta(seconds=3), 3),
]
WRONG_DURATIONS = [
    (10, "10 has no unit"),
    ("10", "10 has no unit"),
    (1.5, "has no unit"),
    (-1, "negative"),
    ("-5s", "negative"),
    (timedelta(seconds=-1), "negative"),
    (True, "must be a duration"),
    (None, "must be a duration"),
    ([], "must be a duration"),
    ("", "not a duration"),
    ("soon", "not a duration"),
    ("10 parsecs", "not a duration"),
    ("30m1h", "not a duration"),
    ("1s1s", "not a duration"),
    ("1h30", "not a duration"),
    ("\u0661s", "not a duration"),
    ("9" * 100 + "s", "not a duration"),
    ("9" * 40 + "d", "too long"),
    ("0.1ms", "not a whole number of milliseconds"),
    (timedelta(microseconds=1), "not a whole number of milliseconds"),
]
SIZES = [
    ("8mb", 8 << 20),
    ("64 KiB", 64 << 10),
    ("1g", 1 << 30),
    ("1.5k", 1536),
    ("2tb", 2 << 40),
    ("10 bytes", 10),
    ("10", 10),
    (10, 10),
    (0, 0),
]
WRONG_SIZES = [
    (-1, "negative"),
    ("-1mb", "negative"),
    (True, "must be a size"),
    (1.5, "must be a size"),
    (None, "must be a size"),
    ("", "not a size"),
    ("8 megs", "not a size"),
    ("1mb2kb", "not a size"),
    ("0.3b", "not a whole number"),
    (2**63, "too large"),
    ("99999999999t", "too large"),
]


@pytest.mark.parametrize(("written", "seconds"), DURATIONS)
def test_duration_is_read(written: object, seconds: float):
    assert parse_duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("written", "sentence"), WRONG_DURATIONS)
def test_wrong_duration_is_refused(written: object, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        parse_duration(written)


@pytest.mark.parametrize(("written", "size"), SIZES)
def test_size_is_read(written: object, size: int):
    assert parse_size(written) == size


@pytest.mark.parametrize(("written", "sentence"), WRONG_SIZES)
def test_wrong_size_is_refused(written: object, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        parse_size(written)


@given(st.integers(min_value=0, max_value=10**15))
def test_duration_round_trip(milliseconds: int):
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_size_round_trip(size: int):
    assert parse_size(format_size(size)) == size


@given(st.one_of(st.text(), st.floats(), st.integers(), st.binary(), st.none()))
def test_anything_else_is_a_value_error(value: object):
    for parse in (parse_duration, parse_size):
        with contextlib.suppress(ValueError):
            parse(value)


def test_format_uses_the_largest_units():
    assert format_duration(timedelta(hours=25, minutes=30, milliseconds=1)) == "1d1h30m1ms"
    assert (format_size(8 << 20), format_size(1500), format_size(0)) == ("8mb", "1500b", "0b")
