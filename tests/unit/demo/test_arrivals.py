"""Receipts are counted over all attempts, and those that come again are known."""

from __future__ import annotations

from pathlib import Path

from milepost.demo.arrivals import Arrival, read, seen_again, take_down


def test_nothing_has_come_before_the_first(tmp_path: Path) -> None:
    assert read(tmp_path / "arrivals.jsonl") == []


def test_receipts_are_numbered_over_all_attempts(tmp_path: Path) -> None:
    file = tmp_path / "arrivals.jsonl"
    assert take_down(file, 1, 0, 4) == 1
    assert take_down(file, 1, 1, 3) == 2
    assert take_down(file, 2, 0, 4) == 3
    assert read(file) == [Arrival(1, 1, 0, 4), Arrival(2, 1, 1, 3), Arrival(3, 2, 0, 4)]


def test_the_same_offset_of_another_partition_is_another_record() -> None:
    arrivals = [Arrival(1, 1, 0, 4), Arrival(2, 1, 1, 4), Arrival(3, 2, 1, 4), Arrival(4, 2, 0, 5)]
    assert seen_again(arrivals) == [Arrival(3, 2, 1, 4)]
