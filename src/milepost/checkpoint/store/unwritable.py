"""Errors for a directory that cannot be written: which one, why, and what to do. Pure."""

from __future__ import annotations

import errno
import os
import re

from milepost.checkpoint.store import layout as names
from milepost.errors import MilepostError, PreflightError, StorageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_STATES = {
    **dict.fromkeys(_FULL, "is full"),
    errno.EROFS: "is read-only",
    **dict.fromkeys(_FORBIDDEN, "is not writable for this user"),
    errno.EIO: "is on a file system that fails",
    errno.ESTALE: "is on a file system that is gone",
}
_FIXES = {
    **dict.fromkeys(_FULL, "Free space on its file system, or choose a directory with more room"),
    errno.EROFS: "Make its file system writable, or choose another directory",
    **dict.fromkeys(
        _FORBIDDEN, "Allow the user that runs the job to read and write it, or choose another directory"
    ),
}
_OTHER_FIX = "Check that it exists and that the user that runs the job can read and write it"
_FOLDERS = "|".join((names.OFFSETS, names.COMMITS, names.SOURCES, names.STATE, names.OURS))
_OF_A_DIRECTORY = re.compile(rf"/(?:{_FOLDERS})(?=/|$).*|/{names.METADATA}$")
# The words of the JVM, which has no numbers; an IOException of a file ends with them.
_WORDS = {os.strerror(number): number for number in _STATES}
_JAVA = re.compile(rf"(?:(?P<file>/[^\n:]*): )?(?P<words>{'|'.join(map(re.escape, _WORDS))})")
# A message of this module may come back through the engine.
_OURS = re.compile(
    rf"The directory (?P<directory>[^\n]*?) (?:{'|'.join(_STATES.values())}): (?P<words>[^\n.]*)"
)


def is_of_a_directory(error: OSError) -> bool:
    """Return whether an error must be fixed in the file system."""
    return error.errno in _STATES


def storage_error(error: OSError) -> StorageError:
    """Return the error for a failed file operation. It is retryable: the file system may recover."""
    return _error(error.errno or 0, str(error.filename or ""), error.strerror or str(error))


def storage_error_of_jvm(message: str) -> StorageError | None:
    """Return the same for a message of the JVM, or None if it is about something else."""
    if ours := _OURS.search(message):
        return _error(_WORDS.get(ours["words"], 0), f"{ours['directory']}/{names.OURS}", ours["words"])
    found = _JAVA.search(message)
    return None if found is None else _error(_WORDS[found["words"]], found["file"] or "", found["words"])


def refused_start(error: OSError) -> MilepostError:
    """Return the error of a job that has not started: what only a user can fix is a refusal."""
    known = storage_error(error)
    if error.errno in _FULL or not is_of_a_directory(error):
        return known
    return PreflightError(known.what, why=known.why, fix=known.fix)


def _error(number: int, file: str, words: str) -> StorageError:
    directory = _directory(file)
    subject = f"The directory {directory}" if directory else "A directory that the job writes to"
    return StorageError(
        f"{subject} {_STATES.get(number, 'did not take a file')}: {words}",
        why=f"{file} could not be written" if file else "",
        fix=_FIXES.get(number, _OTHER_FIX),
    )


def _directory(file: str) -> str:
    """Return the directory that the user has configured, as far as a file name shows it."""
    found = _OF_A_DIRECTORY.search(file)
    return file[: found.start()] if found else os.path.dirname(file)
