"""When scheduled savepoints are due, and which have expired."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.unit.checkpoint.savepoint.test_write import savepoint

from milepost.checkpoint.savepoint.expiry import SavepointRetention, due_in, expired, scheduled, unrestorable
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
from milepost.checkpoint.store.store import Store

HOUR = timedelta(hours=1)
ONE = replace(savepoint(Store.at("memory://expiry")), trigger=SavepointTrigger.PERIODIC)
NOW = ONE.taken_at + 10 * HOUR
ALL = SavepointRetention(max_count=100, max_age=None, keeps_unrestorable=False)


def aged(hours: int, **changes: object) -> Savepoint:
    return replace(ONE, taken_at=NOW - hours * HOUR, name=f"s{hours}", **changes)  # type: ignore[arg-type]


OWN = [aged(1), aged(2), aged(3)]


def names(retention: SavepointRetention, earliest: dict[str, dict[int, int]] | None = None) -> list[str]:
    boundaries = {each.name: {"orders": {0: 100 - int(each.name[1:])}} for each in OWN}
    return [each.savepoint.name for each in expired(OWN, retention, boundaries, earliest, NOW)]


def test_only_what_the_schedule_of_this_job_has_made_counts():
    others = [aged(4, trigger=SavepointTrigger.MANUAL), aged(5, job_name="bills")]
    assert scheduled([*reversed(OWN), *others], "orders") == OWN


def test_it_is_due_an_interval_after_the_newest_whoever_took_it_then():
    assert due_in(None, NOW, HOUR, NOW) == 3600
    assert due_in(NOW - 0.5 * HOUR, NOW, HOUR, NOW) == 1800
    assert due_in(NOW - 3 * HOUR, NOW, HOUR, NOW) == 0


def test_by_count_by_age_and_by_what_the_broker_still_has():
    assert names(ALL) == []
    assert names(replace(ALL, max_count=2)) == ["s3"]
    assert names(replace(ALL, max_age=2 * HOUR)) == ["s3"]
    assert names(ALL, {"orders": {0: 98}}) == ["s3"]
    assert names(replace(ALL, keeps_unrestorable=True), {"orders": {0: 98}}) == []


def test_the_newest_is_always_kept():
    assert names(replace(ALL, max_count=1, max_age=timedelta(seconds=1)), {"orders": {0: 1000}}) == [
        "s2",
        "s3",
    ]


def test_a_partition_that_is_new_is_read_from_its_beginning():
    assert unrestorable({"orders": {0: 5}}, {"orders": {0: 5, 1: 7}}) is None
    assert unrestorable({"orders": {0: 5}}, {"orders": {0: 6}}) == "orders-0"
    assert unrestorable({"orders": {0: 5}}, None) is None
