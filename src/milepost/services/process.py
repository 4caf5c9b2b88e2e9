"""Starts, recognises and ends child processes; never signals one it cannot prove to be ours."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

PROC = Path("/proc")
POLL_SECONDS = 0.05

# Only these are collected when dead: the exit status of another child belongs to whoever started it.
_spawned: set[int] = set()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A process that is there: its pid, an opaque token of when it was born, its command line.

    The command line is empty for a moment after birth and again while the process is dying.
    """

    pid: int
    born: str
    command: tuple[str, ...]
    dying: bool = False

    def carries(self, marker: str) -> bool:
        """Return whether the marker is one whole argument of the command line."""
        return marker in self.command


def observe(pid: int) -> Sighting | None:
    """Return the live process with this pid, or None when it is gone, a zombie or not ours to see."""
    if pid in _spawned:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return _from_proc(pid) if (PROC / "self" / "stat").exists() else _from_ps(pid)


def find(marker: str) -> Sighting | None:
    """Return the live process that carries the marker, whoever started it and whatever its record says."""
    for pid in _pids():
        sighting = observe(pid) if pid != os.getpid() else None
        if sighting is not None and sighting.carries(marker):
            return sighting
    return None


def spawn(command: Sequence[str], environment: Mapping[str, str], *, log: Path, folder: Path) -> int:
    """Start a process that outlives us and hears no Ctrl-C of our terminal; return its pid."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # Let go on purpose: `observe` collects it, and Popen must not complain that it still runs.
    child.returncode = 0
    _spawned.add(child.pid)
    return child.pid


def end(process: Sighting, *, timeout: timedelta) -> bool:
    """Ask the process to end, force it after the timeout, and return whether it is gone."""
    for request, patience in ((signal.SIGTERM, timeout), (signal.SIGKILL, timedelta(seconds=10))):
        if not _is_there(process):
            return True
        with suppress(ProcessLookupError):
            os.kill(process.pid, request)
        if _is_gone_within(process, patience):
            return True
    return False


def _is_there(process: Sighting) -> bool:
    now = observe(process.pid)
    return now is not None and now.born == process.born


def _is_gone_within(process: Sighting, patience: timedelta) -> bool:
    deadline = time.monotonic() + patience.total_seconds()
    pause = threading.Event()
    while _is_there(process):
        if time.monotonic() > deadline:
            return False
        pause.wait(POLL_SECONDS)
    return True


def _pids() -> Iterator[int]:
    if (PROC / "self" / "stat").exists():
        return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    listing = subprocess.run(["ps", "-ax", "-o", "pid="], capture_output=True, text=True, check=False)
    return (int(word) for word in listing.stdout.split())


def _from_proc(pid: int) -> Sighting | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
        command = (PROC / str(pid) / "cmdline").read_bytes()
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name in brackets may hold spaces and brackets: fields are counted after the last one.
    fields = stat.rpartition(")")[2].split()
    # A killed JVM shows as a zombie while threads of it still hold its ports and files: not gone yet.
    dying = fields[0] in "ZX"
    if dying and int(fields[17]) <= 1:
        return None
    words = tuple(os.fsdecode(word) for word in command.split(b"\0")[:-1])
    return Sighting(pid, f"{boot}/{fields[19]}", words, dying)


def _from_ps(pid: int) -> Sighting | None:
    answer = subprocess.run(
        ["ps", "-ww", "-o", "stat=", "-o", "lstart=", "-o", "command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    words = answer.stdout.split(maxsplit=6)
    if len(words) < 7 or words[0].startswith("Z"):
        return None
    # `ps` shows no borders between arguments; a marker is found by the words around it.
    return Sighting(pid, " ".join(words[1:6]), _PsCommand((words[6].strip(),)))


class _PsCommand(tuple[str, ...]):
    """A command line known only as text."""

    __slots__ = ()

    def __contains__(self, marker: object) -> bool:
        return f" {marker} " in f" {' '.join(self)} "
