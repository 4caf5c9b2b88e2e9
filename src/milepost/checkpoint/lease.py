"""The lease on a checkpoint directory: of two drivers exactly one runs.

The lock is the operating system's, on a file: it goes with its process, however that ends, and never has to expire.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from datetime import datetime, timezone
from typing import IO

from milepost.checkpoint.layout import Layout
from milepost.errors import LeaseHeldError

FORMAT = 1


class Lease:
    """The right to run a job on one checkpoint directory; held from `acquire` to `release`."""

    def __init__(self, file: IO[str]) -> None:
        """Keep the locked file open; `acquire` makes leases."""
        self._file = file

    @classmethod
    def acquire(cls, layout: Layout, job_id: str) -> Lease:
        """Take the lease and write down who holds it, or refuse with who does."""
        layout.ours.mkdir(parents=True, exist_ok=True)
        file = layout.lease.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(file)
            file.close()
            raise LeaseHeldError(
                f"Another driver runs on {layout.root}: {holder}",
                why="two drivers on one checkpoint directory would both write batch after batch",
                fix="Stop that one first, or give this job a checkpointing.dir of its own",
            ) from None
        file.truncate(0)
        file.write(json.dumps(_owner(job_id)))
        file.flush()
        return cls(file)

    def release(self) -> None:
        """Let the next driver have it; safe to call again."""
        self._file.close()


def _owner(job_id: str) -> dict[str, str | int]:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {
        "format": FORMAT,
        "job-id": job_id,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": now,
    }


def _holder(file: IO[str]) -> str:
    file.seek(0)
    try:
        owner = json.load(file)
        return f"process {owner['pid']} on {owner['host']}, job {owner['job-id']}, since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "it has not written its name yet"
