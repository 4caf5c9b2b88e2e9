"""Restart strategies as tables: the failures so far on the left, the delay on the right."""

from __future__ import annotations

import pytest

from milepost.job.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, RestartStrategy

EXPONENTIAL = ExponentialDelay(
    initial=1, maximum=60, multiplier=2, reset_after=3600, jitter=0.1, attempts=None
)


@pytest.mark.parametrize(
    ("strategy", "failures", "delay"),
    [
        (NoRestart(), [5], None),
        (FixedDelay(2, 10), [5], 10),
        (FixedDelay(2, 10), [5, 6], 10),
        (FixedDelay(2, 10), [5, 6, 7], None),
        (FixedDelay(0, 10), [5], None),
        (FailureRate(2, 60, 1), [0, 30], 1),
        (FailureRate(2, 60, 1), [0, 30, 59], None),
        (FailureRate(2, 60, 1), [0, 30, 60], 1),
        (FailureRate(1, 60, 1), [0], 1),
        (EXPONENTIAL, [0], 1),
        (EXPONENTIAL, [0, 1], 2),
        (EXPONENTIAL, [0, 1, 3], 4),
        (EXPONENTIAL, list(range(20)), 60),
        (EXPONENTIAL, [0, 1, 3, 3604], 1),
        (EXPONENTIAL, [0, 1, 3, 3604, 3605], 2),
    ],
)
def test_delay(strategy: RestartStrategy, failures: list[float], delay: float | None):
    assert strategy.delay(failures, 0) == delay


@pytest.mark.parametrize(("chance", "delay"), [(-1, 0.9), (0, 1), (1, 1.1)])
def test_jitter_moves_the_delay_both_ways(chance: float, delay: float):
    assert EXPONENTIAL.delay([0], chance) == pytest.approx(delay)


def test_jitter_never_exceeds_the_maximum():
    assert EXPONENTIAL.delay(list(range(20)), 1) == 60


def test_attempts_are_counted_anew_after_a_reset():
    strategy = ExponentialDelay(initial=1, maximum=60, multiplier=2, reset_after=100, jitter=0, attempts=2)
    assert strategy.delay([0, 1], 0) == 2
    assert strategy.delay([0, 1, 2], 0) is None
    assert strategy.delay([0, 1, 200], 0) == 1
