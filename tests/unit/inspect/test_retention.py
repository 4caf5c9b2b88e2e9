"""How long a checkpoint can be restored, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.inspect.retention import Policy, Standing, Unread, Verdict, judge, shortest_time_left

HOUR = 3_600_000
NOW = 100 * HOUR
DAY = Policy(retention_ms=24 * HOUR)


def unread(**changes: Any) -> Unread:
    return Unread(**({"earliest": 0, "latest": 100, "first_ms": NOW - HOUR, "bytes": 500} | changes))


@pytest.mark.parametrize(
    ("offset", "facts", "policy", "standing", "left"),
    [
        (50, unread(), DAY, Standing.RESTORABLE, 23 * HOUR),
        (50, unread(first_ms=NOW - 25 * HOUR), DAY, Standing.RESTORABLE, 0),
        (50, unread(), Policy(), Standing.RESTORABLE, None),
        (50, unread(first_ms=None), DAY, Standing.RESTORABLE, None),
        (50, unread(), Policy(deletes=False, compacts=True, retention_ms=HOUR), Standing.RESTORABLE, None),
        (100, unread(), DAY, Standing.CAUGHT_UP, 24 * HOUR),
        (100, unread(earliest=100), DAY, Standing.CAUGHT_UP, 24 * HOUR),
        (0, unread(latest=0), DAY, Standing.CAUGHT_UP, 24 * HOUR),
        (49, unread(earliest=50), DAY, Standing.UNRESTORABLE, None),
        (101, unread(), DAY, Standing.UNRESTORABLE, None),
    ],
    ids="unread,due,no-limit,not-read,compacted,caught-up,all-expired,empty,gone,truncated".split(","),
)
def test_standing_and_time(
    offset: int, facts: Unread, policy: Policy, standing: Standing, left: int | None
) -> None:
    verdict = judge(offset, facts, policy, NOW)
    assert (verdict.standing, verdict.left_ms, verdict.is_lost) == (
        standing,
        left,
        standing is Standing.UNRESTORABLE,
    )


def test_a_limit_by_size_is_told_in_percent() -> None:
    assert judge(50, unread(), Policy(retention_bytes=1000), NOW).note == "by size: 50 % of limit"
    assert judge(50, unread(bytes=None), Policy(retention_bytes=1000), NOW).note == ""


def test_what_is_gone_is_counted() -> None:
    assert judge(40, unread(earliest=50), DAY, NOW).note == "10 offsets after it were deleted"


def test_the_shortest_time_counts() -> None:
    verdicts = [Verdict(Standing.RESTORABLE, left) for left in (None, 7, 3)]
    assert shortest_time_left(verdicts) == 3
    assert shortest_time_left(verdicts[:1]) is None
