"""Reads files piece by piece, to sum and to copy them, without getting in the way of who works beside."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from contextlib import suppress
from typing import BinaryIO

from milepost.checkpoint.savepoint.manifest import SavedFile
from milepost.checkpoint.store.store import LocalStore, Store

# Python lets other threads run while a piece is read and while it is summed.
_PIECE = 1024 * 1024
_NICE = 10

NO_LINKS = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
"""What a file system says that cannot give a file a second name: it is copied then."""


def lower_priority() -> None:
    """Let everybody else have the processor first, from this thread on; Linux has priorities by thread."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def checksum(store: Store, name: str) -> SavedFile:
    """Return size and checksum of a file that is there."""
    with store.reading(name) as file:
        return _through(file, None)


def checksum_durably(store: LocalStore, name: str) -> SavedFile:
    """The same of a file whose content may not be on the disk yet; it is afterwards."""
    with store.reading(name) as file:
        saved = _through(file, None)
        os.fsync(file.fileno())
        return saved


def copy_file(source: Store, name: str, target: Store, to: str) -> SavedFile:
    """Copy a file durably, and return what was copied."""
    with source.reading(name) as file, target.writing(to) as copy:
        return _through(file, copy)


def _through(file: BinaryIO, copy: BinaryIO | None) -> SavedFile:
    digest, size = hashlib.sha256(), 0
    while piece := file.read(_PIECE):
        digest.update(piece)
        size += len(piece)
        if copy is not None:
            copy.write(piece)
    return SavedFile(size, digest.hexdigest())
