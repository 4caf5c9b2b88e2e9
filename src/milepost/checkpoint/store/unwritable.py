"""A directory that takes no file, as a sentence: which one, why, and what to do. Pure."""

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
        _FORBIDDEN, "Let the user who runs the job read and write it, or choose another directory"
    ),
}
_OTHER_FIX = "See that it is there and that the user who runs the job can read and write it"
_FOLDERS = "|".join((names.OFFSETS, names.COMMITS, names.SOURCES, names.STATE, names.OURS))
_OF_A_DIRECTORY = re.compile(rf"/(?:{_FOLDERS})(?=/|$).*|/{names.METADATA}$")
# The words of the JVM, which has no numbers; an IOException of a file ends with them.
_WORDS = {os.strerror(number): number for number in _STATES}
_JAVA = re.compile(rf"(?:(?P<file>/[^\n:]*): )?(?P<words>{'|'.join(map(re.escape, _WORDS))})")
# What this module has said itself may come back through the engine.
_OURS = re.compile(
    rf"The directory (?P<directory>[^\n]*?) (?:{'|'.join(_STATES.values())}): (?P<words>[^\n.]*)"
)


def is_of_a_directory(error: OSError) -> bool:
    """Return whether an error is one that a person mends in a file system."""
    return error.errno in _STATES


def storage_error(error: OSError) -> StorageError:
    """Return the error that a failed operation on a file is to a job; a restart may find the file system mended."""
    return _error(error.errno or 0, str(error.filename or ""), error.strerror or str(error))


def storage_error_of_jvm(message: str) -> StorageError | None:
    """Return the same for what the JVM says, or None where it speaks of something else."""
    if ours := _OURS.search(message):
        return _error(_WORDS.get(ours["words"], 0), f"{ours['directory']}/{names.OURS}", ours["words"])
    found = _JAVA.search(message)
    return None if found is None else _error(_WORDS[found["words"]], found["file"] or "", found["words"])


def refused_start(error: OSError) -> MilepostError:
    """Return the error of a job that has not begun: what only a person can change is a refusal."""
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
    """Return the directory that the user has configured, as far as a file's name tells it."""
    found = _OF_A_DIRECTORY.search(file)
    return file[: found.start()] if found else os.path.dirname(file)
