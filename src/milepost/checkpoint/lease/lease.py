"""The lease on a checkpoint directory: of two drivers exactly one runs.

On a local file system it is a file lock of the operating system, which ends with its process and never has to expire.
Elsewhere it is a heartbeat. Both have an epoch, which fences a driver that was paused.
"""

from __future__ import annotations

import errno
import fcntl
import json
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import IO

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease.epoch import (
    Owner,
    begin_epoch,
    is_alive,
    newest_epoch,
    parse_owner,
    require_newest,
)
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import LocalStore, Store, named
from milepost.errors import LeaseHeldError

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


class Lease(ABC):
    """The right to run a job on one checkpoint directory; held from `acquire` to `release`."""

    def __init__(self, store: Store, epoch: int) -> None:
        """Keep what both kinds have; `acquire` makes leases."""
        self._store = store
        self.epoch = epoch

    @staticmethod
    def acquire(store: Store, job_id: str) -> Lease:
        """Take the lease and record the holder, or raise LeaseHeldError with the current holder."""
        from milepost.checkpoint.lease.heartbeat import HeartbeatLease  # it is a lease itself

        if isinstance(store, LocalStore):
            try:
                return LockLease.take(store, job_id)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
        lease = HeartbeatLease.take(store, job_id)
        lease.beat()
        return lease

    def verify(self) -> None:
        """Raise FencedError if another driver has taken over; called before each seal."""
        require_newest(self._store, self.epoch)

    @abstractmethod
    def release(self) -> None:
        """Release the lease for the next driver; safe to call again."""


class LockLease(Lease):
    """A lease by a lock of the operating system on a local file."""

    def __init__(self, store: LocalStore, epoch: int, file: IO[str]) -> None:
        """Keep the locked file open."""
        super().__init__(store, epoch)
        self._file = file

    @classmethod
    def take(cls, store: LocalStore, job_id: str) -> LockLease:
        """Lock the file and begin an epoch."""
        path = store.path(names.LEASE)
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            owner = Owner.here(job_id, utc_now())
            epoch = _next_epoch(store, owner)
            with named(path):
                file.truncate(0)
                file.write(json.dumps(owner.document() | {"epoch": epoch}))
                file.flush()
        except BlockingIOError:
            file.seek(0)
            holder = parse_owner(file.read())
            file.close()
            raise held(store, str(holder or "it has not written its name yet")) from None
        except BaseException:
            # A full disk fails the close too, of what could not be written before.
            with suppress(OSError):
                file.close()
            raise
        return cls(store, epoch, file)

    def release(self) -> None:
        """Close the file, which unlocks it."""
        self._file.close()


def holder(store: Store) -> str | None:
    """Return the live driver that holds the lease of a directory; None where it is free or cannot be seen from here."""
    try:
        if isinstance(store, LocalStore):
            return _lock_holder(store)
        from milepost.checkpoint.lease.heartbeat import live_owner  # it imports this module

        owner = live_owner(store, utc_now())
    except (OSError, ValueError):
        return None
    return None if owner is None else str(owner)


def require_free(store: Store) -> None:
    """Refuse a local directory whose lease a live driver holds. Does not take the lease."""
    if isinstance(store, LocalStore) and (found := holder(store)) is not None:
        raise held(store, found)


def _lock_holder(store: LocalStore) -> str | None:
    with store.path(names.LEASE).open(encoding="utf-8") as file:
        owner = parse_owner(file.read())
        # The lock of a dead owner is free. Trying it could block a driver that takes it at this moment.
        if owner is None or (owner.host == socket.gethostname() and not is_alive(owner.pid)):
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return str(owner)
    return None


def held(store: Store, holder: str) -> LeaseHeldError:
    """Return the refusal that names the holder."""
    return LeaseHeldError(
        f"Another driver runs on {store.address('')}: {holder}",
        why="two drivers on one checkpoint directory would both write every batch",
        fix="Stop that one first, or give this job a checkpointing.dir of its own",
    )


def _next_epoch(store: Store, owner: Owner) -> int:
    while True:
        epoch = newest_epoch(store) + 1
        try:
            begin_epoch(store, epoch, owner)
        except FileExistsError:
            # The lock is ours, so this was a driver whose lease file was deleted; it will see our epoch.
            continue
        return epoch
