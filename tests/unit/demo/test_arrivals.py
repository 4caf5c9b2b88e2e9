"""Arrivals are counted over all attempts, and repeated ones are found."""

from __future__ import annotations

from pathlib import Path

from milepost.demo.arrivals import Arrival, read, record_arrival, repeated_arrivals


def test_there_is_no_arrival_before_the_first(tmp_path: Path) -> None:
    assert read(tmp_path / "arrivals.jsonl") == []


def test_arrivals_are_numbered_over_all_attempts(tmp_path: Path) -> None:
    file = tmp_path / "arrivals.jsonl"
    assert record_arrival(file, 1, 0, 4) == 1
    assert record_arrival(file, 1, 1, 3) == 2
    assert record_arrival(file, 2, 0, 4) == 3
    assert read(file) == [Arrival(1, 1, 0, 4), Arrival(2, 1, 1, 3), Arrival(3, 2, 0, 4)]


def test_the_same_offset_of_another_partition_is_another_record() -> None:
    arrivals = [Arrival(1, 1, 0, 4), Arrival(2, 1, 1, 4), Arrival(3, 2, 1, 4), Arrival(4, 2, 0, 5)]
    assert repeated_arrivals(arrivals) == [Arrival(3, 2, 1, 4)]
