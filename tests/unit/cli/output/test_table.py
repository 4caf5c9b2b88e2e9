from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from milepost.cli.output.table import (
    align_columns,
    duration,
    moment,
    number,
    size,
)


def test_texts_stand_left_and_numbers_right() -> None:
    assert align_columns(("name", "rows"), [("a", "1"), ("long", "1,000")], left=("name",)) == [
        "name   rows",
        "a         1",
        "long  1,000",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0B"),
        (999, "999B"),
        (1000, "1.0K"),
        (16384, "16.0K"),
        (150 << 20, "150M"),
        (1 << 60, "1024P"),
    ],
)
def test_sizes_are_short(value: int | None, text: str) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (210, "210 ms"),
        (1500, "1.5 s"),
        (61_000, "1 min 1 s"),
        (11_520_000, "3 h 12 min"),
        (200_000_000, "2 d 7 h"),
        (-1500, "-1.5 s"),
    ],
)
def test_durations_have_one_or_two_units(value: int | None, text: str) -> None:
    assert duration(value) == text


def test_times_are_of_one_zone() -> None:
    east = timezone(timedelta(hours=2))
    assert moment(datetime(2026, 11, 15, 14, tzinfo=east)) == "2026-11-15 12:00:00"
    assert moment(None) == "-"


def test_what_is_not_known_is_a_dash() -> None:
    assert (number(None), number(1234)) == ("-", "1,234")
