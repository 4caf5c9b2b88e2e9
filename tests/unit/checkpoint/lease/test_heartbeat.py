"""A lease that has to be renewed, with a clock that tests move."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from milepost.checkpoint.lease.epoch import Owner, begin_epoch
from milepost.checkpoint.lease.heartbeat import (
    EXPIRY,
    Heartbeat,
    HeartbeatLease,
    free_at,
    live_owner,
)
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError, LeaseHeldError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


OWNER = Owner(job_id="j", pid=1, host="h", since=NOW)
LATER = NOW + timedelta(seconds=30)


@pytest.mark.parametrize(
    ("epoch", "owner", "heartbeat", "free"),
    [
        (0, None, None, None),
        (2, OWNER, Heartbeat(epoch=2, at=LATER), LATER + EXPIRY),
        (2, OWNER, Heartbeat(epoch=2, at=LATER, is_released=True), None),
        (2, OWNER, None, NOW + EXPIRY),
        (2, OWNER, Heartbeat(epoch=1, at=LATER), NOW + EXPIRY),
        (2, OWNER, Heartbeat(epoch=1, at=LATER, is_released=True), NOW + EXPIRY),
        (2, None, None, None),
    ],
    ids=[
        "never held",
        "alive",
        "released",
        "begun, no heartbeat yet",
        "begun over a dead one",
        "begun after a release",
        "the epoch's file is damaged",
    ],
)
def test_when_a_lease_is_free(
    epoch: int, owner: Owner | None, heartbeat: Heartbeat | None, free: datetime | None
):
    assert free_at(epoch, owner, heartbeat) == free


def test_a_second_driver_is_refused_until_the_lease_expires(store: Store, clock: Clock):
    first = HeartbeatLease.take(store, "first", clock=clock)
    clock.pass_seconds(59)
    with pytest.raises(LeaseHeldError, match=r"job first, since .*; if it is dead, its lease is free in 1 s"):
        HeartbeatLease.take(store, "second", clock=clock)
    first.renew()
    clock.pass_seconds(59)
    with pytest.raises(LeaseHeldError, match="free in 1 s"):
        HeartbeatLease.take(store, "second", clock=clock)
    first.verify()


def test_a_paused_driver_that_comes_back_is_fenced(store: Store, clock: Clock):
    paused = HeartbeatLease.take(store, "paused", clock=clock)
    clock.pass_seconds(60)
    second = HeartbeatLease.take(store, "second", clock=clock)
    assert (paused.epoch, second.epoch) == (1, 2)
    for act in (paused.verify, paused.renew):
        with pytest.raises(FencedError, match=r"taken over .*job second"):
            act()
    paused.release()
    second.verify()
    with pytest.raises(LeaseHeldError, match="job second"):
        HeartbeatLease.take(store, "third", clock=clock)


def test_a_released_lease_is_free_at_once(store: Store, clock: Clock):
    first = HeartbeatLease.take(store, "first", clock=clock)
    first.release()
    first.release()
    assert HeartbeatLease.take(store, "second", clock=clock).epoch == 2


def test_of_two_that_find_it_free_one_is_faster(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    def faster(store: Store, epoch: int, owner: Owner) -> None:
        begin_epoch(store, epoch, Owner(job_id="faster", pid=1, host="h", since=NOW))
        begin_epoch(store, epoch, owner)

    monkeypatch.setattr("milepost.checkpoint.lease.heartbeat.begin_epoch", faster)
    with pytest.raises(LeaseHeldError, match=r"job faster, .*; it took the lease first"):
        HeartbeatLease.take(store, "slower", clock=clock)


class Signal(Clock):
    """A clock that tells how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Semaphore(0)

    def __call__(self) -> datetime:
        self.asked.release()
        return super().__call__()


@pytest.fixture
def signal() -> Signal:
    return Signal()


@pytest.fixture
def beating(store: Store, signal: Signal) -> Iterator[HeartbeatLease]:
    lease = HeartbeatLease.take(store, "first", clock=signal)
    lease.beat(timedelta(milliseconds=1))
    yield lease
    lease.release()


def test_the_heart_beats_until_the_release(beating: HeartbeatLease, signal: Signal):
    assert all(signal.asked.acquire(timeout=10) for _ in range(5))
    beating.release()
    assert not [thread for thread in threading.enumerate() if thread.name == "milepost-lease"]


def test_the_heart_outlives_a_disk_that_fails(
    beating: HeartbeatLease, signal: Signal, store: Store, monkeypatch: pytest.MonkeyPatch
):
    failed = threading.Semaphore(0)

    def fail(name: str, data: bytes) -> None:
        failed.release()
        raise OSError("no route to host")

    with monkeypatch.context() as patched:
        patched.setattr(store, "replace", fail)
        assert all(failed.acquire(timeout=10) for _ in range(3))
    while signal.asked.acquire(blocking=False):
        pass
    assert all(signal.asked.acquire(timeout=10) for _ in range(3))
    beating.verify()


def test_the_heart_stops_when_another_driver_has_taken_over(beating: HeartbeatLease, store: Store):
    begin_epoch(store, beating.epoch + 1, OWNER)
    thread = beating._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()


def test_the_owner_is_alive_until_its_lease_expires(store: Store, clock: Clock):
    assert live_owner(store, clock()) is None
    lease = HeartbeatLease.take(store, "first", clock=clock)
    clock.pass_seconds(59)
    owner = live_owner(store, clock())
    assert owner is not None
    assert owner.job_id == "first"
    assert live_owner(store, clock() + timedelta(seconds=1)) is None
    lease.release()
    assert live_owner(store, clock()) is None
