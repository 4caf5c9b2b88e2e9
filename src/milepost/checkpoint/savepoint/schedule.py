"""Takes savepoints on a schedule and removes those of its own that have expired; on a thread beside the job."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Protocol

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.expiry import Expired, SavepointRetention, due_in, expired, scheduled
from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import Store

log = logging.getLogger(__name__)

# After a failure: the job may be restarting, or another savepoint is being taken.
_AGAIN = 60.0


class Taker(Protocol):
    """Takes savepoints."""

    def trigger(
        self, directory: str | None = None, trigger: SavepointTrigger = SavepointTrigger.MANUAL
    ) -> Future[Savepoint]:
        """Take one of the next checkpoint."""


class ScheduledSavepoints:
    """The schedule of one job, from `start` to `stop`."""

    def __init__(  # noqa: PLR0913 - what a schedule is, each by its name
        self,
        taker: Taker,
        directory: str,
        *,
        job_name: str,
        interval: timedelta,
        retention: SavepointRetention,
        earliest: Callable[[], Offsets],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take nothing yet; `earliest` asks the broker where its topics begin."""
        self._taker = taker
        self._directory = directory
        self._job_name = job_name
        self._interval = interval
        self._retention = retention
        self._earliest = earliest
        self._now = now
        self._started = now()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scheduled-savepoints", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more savepoints; one that is being taken is finished by the taker."""
        self._stopping.set()

    def wait_for(self) -> float:
        """Return the seconds until the next one is due."""
        own = scheduled(catalog.load_all(self._directory), self._job_name)
        newest = own[0].taken_at if own else None
        return due_in(newest, self._started, self._interval, self._now())

    def take(self) -> Savepoint:
        """Take one, and wait for it."""
        return self._taker.trigger(None, SavepointTrigger.PERIODIC).result()

    def expire(self) -> list[Expired]:
        """Remove what has expired, and return it."""
        own = scheduled(catalog.load_all(self._directory), self._job_name)
        boundaries = {each.name: _boundary(each) for each in own}
        gone = [*expired(own, self._retention, boundaries, self._asked(), self._now())]
        for each in gone:
            catalog.dispose(each.savepoint.path)
            log.info("Savepoint %s is removed: %s", each.savepoint.path, each.why)
        return gone

    def _asked(self) -> Offsets | None:
        try:
            return self._earliest()
        except Exception:  # then nothing expires for the sake of the topics
            log.debug("The broker did not report the earliest offsets of the topics", exc_info=True)
            return None

    def _run(self) -> None:
        while not self._stopping.wait(self._turn()):
            pass

    def _turn(self) -> float:
        """Take one if it is due, and return how long there is nothing to do."""
        try:
            seconds = self.wait_for()
            if seconds > 0:
                return seconds
            self.take()
            self.expire()
            return self.wait_for()
        except Exception as error:  # a schedule that stumbles must not stop, and never fails the job
            log.warning("While savepoints were taken on schedule: %s", error)
            return _AGAIN


def _boundary(savepoint: Savepoint) -> Offsets:
    stored = CheckpointFiles(Store.at(savepoint.path)).get(savepoint.checkpoint_id)
    sources = () if stored is None else stored.sources
    return {topic: partitions for offsets in sources for topic, partitions in offsets.items()}
