"""The clocks of this machine."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

from milepost.checkpoint.clock import Clock


def test_the_wall_clock_is_in_utc() -> None:
    before, now, after = datetime.now(timezone.utc), Clock().now(), datetime.now(timezone.utc)
    assert now.utcoffset() == timedelta(0)
    assert before <= now <= after


def test_the_monotonic_clock_is_the_one_of_timeouts() -> None:
    before, now, after = time.monotonic(), Clock().monotonic(), time.monotonic()
    assert before <= now <= after
