"""Epochs: which driver took the lease on a checkpoint directory, and when. The newest epoch may write.

A driver that was paused while another one took over learns from its epoch that its lease is lost.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from datetime import datetime

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The driver that took a lease."""

    job_id: str
    pid: int
    host: str
    since: datetime

    @classmethod
    def here(cls, job_id: str, now: datetime) -> Owner:
        """Return this process as an owner."""
        return cls(job_id=job_id, pid=os.getpid(), host=socket.gethostname(), since=now)

    def __str__(self) -> str:
        """Return a description that helps to find the process."""
        since = self.since.isoformat(timespec="seconds")
        return f"process {self.pid} on {self.host}, job {self.job_id}, since {since}"

    def document(self) -> dict[str, str | int]:
        """Return the JSON document."""
        return {
            "format": FORMAT,
            "job-id": self.job_id,
            "pid": self.pid,
            "host": self.host,
            "since": self.since.isoformat(),
        }


def is_alive(pid: int) -> bool:
    """Return whether a process of any user has this pid now."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def parse_owner(data: bytes | str) -> Owner | None:
    """Return the owner that a file names; None if it does not name one (yet)."""
    try:
        document = json.loads(data)
        return Owner(
            job_id=str(document["job-id"]),
            pid=int(document["pid"]),
            host=str(document["host"]),
            since=datetime.fromisoformat(document["since"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def newest_epoch(store: Store) -> int:
    """Return the newest epoch; 0 where there was none."""
    return max(_epochs(store), default=0)


def owner_of(store: Store, epoch: int) -> Owner | None:
    """Return the owner that began an epoch; None if it is no longer known."""
    try:
        return parse_owner(store.read(f"{names.EPOCHS}/{epoch}"))
    except FileNotFoundError:
        return None


def begin_epoch(store: Store, epoch: int, owner: Owner) -> None:
    """Begin an epoch and end all older ones; FileExistsError if another driver has just begun it."""
    store.create(f"{names.EPOCHS}/{epoch}", json.dumps(owner.document()).encode() + b"\n")
    for older in sorted(_epochs(store)):
        if older < epoch:
            store.delete(f"{names.EPOCHS}/{older}")


def require_newest(store: Store, epoch: int) -> None:
    """Raise FencedError if an epoch is no longer the newest one."""
    newest = newest_epoch(store)
    if newest == epoch:
        return
    directory = store.address("")
    if newest < epoch:
        raise FencedError(
            f"Epoch {epoch} of {directory} is gone",
            why=f"{store.address(names.EPOCHS)}/{epoch} was removed while this driver ran",
            fix="Start the job again; it resumes from the newest completed checkpoint",
        )
    raise FencedError(
        f"Another driver has taken over {directory}: {owner_of(store, newest) or 'it has not written its name'}",
        why=f"its epoch is {newest}, and this driver's is {epoch}; only the newest may complete checkpoints",
        fix="Nothing is lost: this driver stops, and the other one continues",
    )


def _epochs(store: Store) -> list[int]:
    return [int(name) for name in store.names(names.EPOCHS) if name.isascii() and name.isdigit()]
