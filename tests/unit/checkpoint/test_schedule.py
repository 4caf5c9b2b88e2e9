from __future__ import annotations

import pytest

from milepost.checkpoint.schedule import CheckpointSchedule


@pytest.mark.parametrize(
    ("interval", "min_pause", "triggered", "completed", "due"),
    [
        (10, 0, 100, 101, 110),  # done early: the interval counts
        (10, 0, 100, 115, 115),  # overran: at once
        (10, 3, 100, 109, 112),  # done late: the pause counts
        (10, 3, 100, 102, 110),
        (0, 2, 100, 101, 103),
    ],
)
def test_next(interval: float, min_pause: float, triggered: float, completed: float, due: float):
    assert CheckpointSchedule(interval, min_pause).next(triggered_at=triggered, completed_at=completed) == due


def test_the_first_is_due_at_once():
    assert CheckpointSchedule(10, 0).first(5.0) == 5.0


@pytest.mark.parametrize(("interval", "min_pause", "free"), [(0, 0, True), (0, 1, False), (1, 0, False)])
def test_free_running_waits_for_nothing(interval: float, min_pause: float, free: bool):
    assert CheckpointSchedule(interval, min_pause).is_free_running is free
