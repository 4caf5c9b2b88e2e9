"""Reads files in pieces, to compute checksums and to copy them, without slowing down the job."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from contextlib import suppress
from typing import BinaryIO

from milepost.checkpoint.savepoint.manifest import SavedFile
from milepost.checkpoint.store.store import LocalStore, Store

# Python lets other threads run while a piece is read and while its checksum is computed.
_PIECE = 1024 * 1024
_NICE = 10

NO_LINKS = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
"""Errors of a file system without hard links; the file is copied instead."""


def lower_priority() -> None:
    """Lower the priority of this thread; Linux has priorities by thread."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def checksum(store: Store, name: str) -> SavedFile:
    """Return the size and checksum of an existing file."""
    with store.reading(name) as file:
        return _through(file, None)


def checksum_durably(store: LocalStore, name: str) -> SavedFile:
    """Return the same, and make the content of the file durable."""
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
