"""Savepoints on a schedule."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.expiry import SavepointRetention
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
from milepost.checkpoint.savepoint.schedule import ScheduledSavepoints
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import SavepointError


class Taker:
    """Takes a savepoint at once; the first request fails."""

    def __init__(self, spark: SparkDirectory, target: LocalStore) -> None:
        self.spark, self.target = spark, target
        self.taken = 0
        self.fails = False
        self.done = threading.Event()

    def trigger(
        self, _directory: str | None = None, trigger: SavepointTrigger = SavepointTrigger.MANUAL
    ) -> Future[Savepoint]:
        answer: Future[Savepoint] = Future()
        if self.fails:
            answer.set_exception(SavepointError("the job restarts"))
            return answer
        self.taken += 1
        made = replace(savepoint(self.target, f"{self.taken:012x}"), trigger=trigger, taken_at=utc_now())
        answer.set_result(finish(pin(self.spark.store, self.target, made)))
        self.done.set()
        return answer


@pytest.fixture
def taker(filled: SparkDirectory, tmp_path: Path) -> Taker:
    return Taker(filled, LocalStore(tmp_path / "savepoints"))


def schedule(taker: Taker, interval: timedelta, **changes: object) -> ScheduledSavepoints:
    def earliest() -> Offsets:
        raise ConnectionError("the broker is away")

    retention = replace(SavepointRetention(max_count=2, max_age=None, keeps_unrestorable=False), **changes)  # type: ignore[arg-type]
    return ScheduledSavepoints(
        taker,
        str(taker.target.root),
        job_name="orders",
        interval=interval,
        retention=retention,
        earliest=earliest,
    )


def test_it_takes_when_it_is_due_and_stops(taker: Taker):
    running = schedule(taker, timedelta(0))
    running.start()
    assert taker.done.wait(10)
    running.stop()
    (first, *_) = catalog.load_all(str(taker.target.root))
    assert first.trigger is SavepointTrigger.PERIODIC


def test_an_hour_is_an_hour_from_the_newest_one(taker: Taker):
    quiet = schedule(taker, timedelta(hours=1))
    assert quiet.wait_for() == pytest.approx(3600, abs=10)
    quiet.take()
    assert schedule(taker, timedelta(hours=1)).wait_for() == pytest.approx(3600, abs=10)


def test_what_is_too_many_goes_and_what_a_user_took_stays(taker: Taker):
    users = taker.trigger().result()
    quiet = schedule(taker, timedelta(hours=1))
    made = [quiet.take() for _ in range(3)]
    assert [each.savepoint.name for each in quiet.expire()] == [made[0].name]
    left = {each.name for each in catalog.load_all(str(taker.target.root))}
    assert left == {users.name, made[1].name, made[2].name}


def test_one_that_fails_is_tried_again_later(taker: Taker):
    taker.fails = True
    assert schedule(taker, timedelta(0))._turn() == 60
