"""Where the commands of a user find the running jobs of that user on this machine.

One record per job, in a folder that nobody else may enter. It is a hint: what is true the job itself says.
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
    """A running job, and how it is reached."""

    job_id: str
    name: str
    directory: str
    """Of its checkpoints."""
    address: str
    token_file: str
    pid: int
    born: str = ""
    """When the process was born that has this pid."""
    read_token_file: str = ""
    """Of the token that may only look."""
    certificate: str | None = None
    """What the server proves itself with, where it encrypts."""


def folder() -> Path:
    """Return the user's own folder of running jobs; one that others could write to is refused."""
    path = _place()
    with suppress(FileExistsError):
        path.mkdir(mode=_PRIVATE)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise NotReachableError(
            f"{path} cannot be trusted with the tokens of running jobs",
            why="it is not a folder of yours that only you may enter",
            fix=f"Remove it, or make it yours: chmod 700 {path}",
        )
    return path


def _place() -> Path:
    return Path(tempfile.gettempdir()) / f"milepost-{getpass.getuser()}"


@contextmanager
def registered(entry: Entry) -> Iterator[None]:
    """Let commands find a job as long as it runs."""
    path = _written(f"{entry.job_id}{_RECORD}", json.dumps(asdict(entry), indent=2) + "\n")
    try:
        yield
    finally:
        _remove_grants(entry.job_id)
        _let_go(path)


@contextmanager
def granted(job_id: str, directory: str) -> Iterator[None]:
    """Let the savepoints of a job go to a directory: only the user who runs the job can write this file."""
    path = _written(f"{job_id}.{uuid.uuid4().hex}{_GRANT}", directory)
    try:
        yield
    finally:
        _let_go(path)


def grants(job_id: str) -> frozenset[str]:
    """Return the directories that the user of a job has named for its savepoints."""
    found = set()
    for path in _place().glob(f"{job_id}.*{_GRANT}"):
        with suppress(OSError, ValueError):  # the command that wrote it may be over
            found.add((folder() / path.name).read_text(encoding="utf-8"))
    return frozenset(found)


@contextmanager
def kept_tokens(job_id: str, token: str, read_token: str) -> Iterator[tuple[Path, Path]]:
    """Keep a job's tokens, each where only its user can read it, as long as the job runs."""
    path = _written(f"{job_id}{_TOKEN}", token)
    try:
        reading = _written(f"{job_id}{_READ_TOKEN}", read_token)
        try:
            yield path, reading
        finally:
            _let_go(reading)
    finally:
        _let_go(path)


def entries() -> list[Entry]:
    """Return the running jobs by name; what a killed driver has left is removed."""
    found: list[Entry] = []
    if not _place().exists():
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
    """Remove what killed drivers have left, and the folder where no job runs any more."""
    with suppress(OSError, NotReachableError):
        entries()
        _place().rmdir()


def find(wanted: str) -> Entry | None:
    """Return the running job of that id, address or name; None where there is none."""
    known = entries()
    by_id = [entry for entry in known if wanted in (entry.job_id, entry.address)]
    by_name = [entry for entry in known if entry.name == wanted]
    if len(by_name) > 1 and not by_id:
        ids = ", ".join(entry.job_id for entry in by_name)
        raise NotReachableError(
            f"{len(by_name)} running jobs are named {wanted!r}", fix=f"Name one by its id: {ids}"
        )
    return next(iter([*by_id, *by_name]), None)


def _read(path: Path) -> Entry | None:
    try:
        entry = Entry(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return entry if isinstance(entry.pid, int) and entry.pid > 0 else None


def _written(name: str, text: str) -> Path:
    """Write a file that nobody else can read, from its first moment on, and return its path."""
    while True:
        path = folder() / name
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            continue  # another job was the last one of its folder just now
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        return draft.replace(path)


def _remove_grants(job_id: str) -> None:
    for path in _place().glob(f"{job_id}.*{_GRANT}"):
        path.unlink(missing_ok=True)


def _let_go(path: Path) -> None:
    path.unlink(missing_ok=True)
    sweep()


def _is_alive(entry: Entry) -> bool:
    """Return whether the process that wrote a record is there; another one may have its pid by now."""
    born = process_identity.born(entry.pid)
    return born is not None and entry.born in ("", born)
