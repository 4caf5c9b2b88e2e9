"""The registry by which commands find the running jobs of the same user on this machine.

It has one record per job, in a folder that only this user can access. A record is a hint: the job itself is asked for
its state.
"""

from __future__ import annotations

import getpass
import json
import os
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from milepost.errors import NotReachableError
from milepost.job import process_identity

_PRIVATE = 0o700
_RECORD = ".json"
_TOKEN = ".token"
_READ_TOKEN = ".read-token"
_GRANT = ".savepoint-dir"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A running job and its REST address."""

    job_id: str
    name: str
    directory: str
    """The checkpoint directory."""
    address: str
    token_file: str
    pid: int
    born: str = ""
    """The start token of the process with this pid; empty if it is not known."""
    read_token_file: str = ""
    """The file of the read-only token."""
    certificate: str | None = None
    """The server's certificate if it uses TLS."""


def folder() -> Path:
    """Return the user's folder of running jobs, created if needed; refuse one that others can access."""
    path = _folder_path()
    with suppress(FileExistsError):
        path.mkdir(mode=_PRIVATE)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise NotReachableError(
            f"{path} cannot be trusted with the tokens of running jobs",
            why="it is not a folder that you own and that only you can access",
            fix=f"Remove it, or restrict it to yourself: chmod 700 {path}",
        )
    return path


def _folder_path() -> Path:
    return Path(tempfile.gettempdir()) / f"milepost-{getpass.getuser()}"


@contextmanager
def register(entry: Entry) -> Iterator[None]:
    """Register a job for the duration of the block."""
    path = _write_private(f"{entry.job_id}{_RECORD}", json.dumps(asdict(entry), indent=2) + "\n")
    try:
        yield
    finally:
        _remove_grants(entry.job_id)
        _remove(path)


@contextmanager
def grant_directory(job_id: str, directory: str) -> Iterator[None]:
    """Permit a directory for savepoints of a job during the block: only the job's user can write this file."""
    path = _write_private(f"{job_id}.{uuid.uuid4().hex}{_GRANT}", directory)
    try:
        yield
    finally:
        _remove(path)


def grants(job_id: str) -> frozenset[str]:
    """Return the directories that the job's user permits for its savepoints."""
    found = set()
    for path in _folder_path().glob(f"{job_id}.*{_GRANT}"):
        with suppress(OSError, ValueError):  # the command that wrote it may have ended
            found.add((folder() / path.name).read_text(encoding="utf-8"))
    return frozenset(found)


@contextmanager
def store_tokens(job_id: str, token: str, read_token: str) -> Iterator[tuple[Path, Path]]:
    """Store a job's tokens during the block, each in a file that only its user can read."""
    path = _write_private(f"{job_id}{_TOKEN}", token)
    try:
        reading = _write_private(f"{job_id}{_READ_TOKEN}", read_token)
        try:
            yield path, reading
        finally:
            _remove(reading)
    finally:
        _remove(path)


def entries() -> list[Entry]:
    """Return the running jobs sorted by name; files left by killed drivers are removed."""
    found: list[Entry] = []
    if not _folder_path().exists():
        return found
    for path in sorted(folder().glob(f"*{_RECORD}")):
        entry = _read(path)
        if entry is not None and _is_alive(entry):
            found.append(entry)
            continue
        for suffix in (_RECORD, _TOKEN, _READ_TOKEN):
            path.with_suffix(suffix).unlink(missing_ok=True)
        _remove_grants(path.stem)
    return sorted(found, key=lambda entry: (entry.name, entry.job_id))


def sweep() -> None:
    """Remove the files left by killed drivers, and the folder if it is empty."""
    with suppress(OSError, NotReachableError):
        entries()
        _folder_path().rmdir()


def find(wanted: str) -> Entry | None:
    """Return the running job with this id, address or name, or None."""
    known = entries()
    by_id = [entry for entry in known if wanted in (entry.job_id, entry.address)]
    by_name = [entry for entry in known if entry.name == wanted]
    if len(by_name) > 1 and not by_id:
        ids = ", ".join(entry.job_id for entry in by_name)
        raise NotReachableError(
            f"{len(by_name)} running jobs are named {wanted!r}", fix=f"Specify one by its id: {ids}"
        )
    return next(iter([*by_id, *by_name]), None)


def _read(path: Path) -> Entry | None:
    try:
        entry = Entry(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return entry if isinstance(entry.pid, int) and entry.pid > 0 else None


def _write_private(name: str, text: str) -> Path:
    """Write a file that only this user can read from the moment it exists, and return its path."""
    while True:
        path = folder() / name
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue  # the last other job has just removed the folder
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return draft.replace(path)


def _remove_grants(job_id: str) -> None:
    for path in _folder_path().glob(f"{job_id}.*{_GRANT}"):
        path.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    sweep()


def _is_alive(entry: Entry) -> bool:
    """Return whether the process that wrote a record is there; another one may have its pid by now."""
    token = process_identity.start_token(entry.pid)
    return token is not None and entry.born in ("", token)
