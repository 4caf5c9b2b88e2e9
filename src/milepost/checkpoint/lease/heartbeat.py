"""A lease by heartbeat, for file systems without locks: renewed every 10 s, free after 60 s without renewal.

If the clocks of two hosts differ, a lease may be taken over too early or too late. The epoch decides which driver
continues.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease.epoch import (
    Owner,
    begin_epoch,
    newest_epoch,
    owner_of,
)
from milepost.checkpoint.lease.lease import Lease, held
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError

INTERVAL = timedelta(seconds=10)
EXPIRY = timedelta(seconds=60)
_RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The newest sign of life of an epoch's owner."""

    epoch: int
    at: datetime
    is_released: bool = False


def free_at(epoch: int, owner: Owner | None, heartbeat: Heartbeat | None) -> datetime | None:
    """Return when the newest epoch may be followed by another; None means now.

    An owner that has not yet written a heartbeat for its epoch is alive too.
    """
    if heartbeat is not None and heartbeat.epoch == epoch:
        return None if heartbeat.is_released else heartbeat.at + EXPIRY
    return owner.since + EXPIRY if owner is not None else None


class HeartbeatLease(Lease):
    """A lease that its holder has to renew."""

    def __init__(self, store: Store, epoch: int, owner: Owner, clock: Callable[[], datetime]) -> None:
        """Write nothing yet; `take` makes leases."""
        super().__init__(store, epoch)
        self._owner = owner
        self._clock = clock
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def take(cls, store: Store, job_id: str, *, clock: Callable[[], datetime] = utc_now) -> HeartbeatLease:
        """Begin an epoch if no owner is alive, or raise LeaseHeldError with the owner."""
        now, newest = clock(), newest_epoch(store)
        holder, free = _newest_owner(store, newest)
        if free is not None and now < free:
            seconds = (free - now).total_seconds()
            raise held(store, f"{holder}; if it is dead, its lease is free in {seconds:.0f} s")
        owner = Owner.here(job_id, now)
        try:
            begin_epoch(store, newest + 1, owner)
        except FileExistsError:
            raise held(store, f"{owner_of(store, newest + 1)}; it took the lease first") from None
        lease = cls(store, newest + 1, owner, clock)
        lease.renew()
        return lease

    def beat(self, interval: timedelta = INTERVAL) -> None:
        """Renew the lease on a thread of its own until it is released or lost."""
        self._thread = threading.Thread(
            target=self._renew_until_ended,
            args=(interval.total_seconds(),),
            name="milepost-lease",
            daemon=True,
        )
        self._thread.start()

    def renew(self) -> None:
        """Write a sign of life; FencedError if another driver has taken over."""
        self.verify()
        self._write({})

    def release(self) -> None:
        """Mark the lease as released, so the next driver does not wait for its expiry."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        # If this fails, the next driver waits until the lease expires.
        with suppress(FencedError, OSError):
            self.verify()
            self._write({_RELEASED: True})

    def _renew_until_ended(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            try:
                self.renew()
            except FencedError:
                return
            except Exception:
                # The file system may be back in time; if not, the epoch of the next driver fences this one.
                continue

    def _write(self, more: dict[str, bool]) -> None:
        document = self._owner.document() | {"epoch": self.epoch, "renewed": self._clock().isoformat()} | more
        self._store.replace(names.LEASE, json.dumps(document).encode() + b"\n")


def live_owner(store: Store, now: datetime) -> Owner | None:
    """Return the owner of the newest epoch where its lease has neither expired nor been released."""
    owner, free = _newest_owner(store, newest_epoch(store))
    return owner if free is not None and now < free else None


def _newest_owner(store: Store, epoch: int) -> tuple[Owner | None, datetime | None]:
    """Return the owner of the newest epoch, and when its lease is free."""
    owner = owner_of(store, epoch)
    return owner, free_at(epoch, owner, _heartbeat(store))


def _heartbeat(store: Store) -> Heartbeat | None:
    try:
        document = json.loads(store.read(names.LEASE))
        return Heartbeat(
            epoch=int(document["epoch"]),
            at=datetime.fromisoformat(document["renewed"]),
            is_released=bool(document.get(_RELEASED)),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
