"""Identifies a running process by its pid and start time: the pid alone may have been reused by another program.

The start time is the kernel's count of ticks since boot. psutil's `create_time` is not used: it adds the wall clock's
boot time, so a stored value no longer matches after the clock is set.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

_LSTART_WIDTH = len("Thu Jan  1 00:00:00 1970")


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process that exists now.

    The command line is empty for a moment after the start, and again while the process is dying.
    """

    pid: int
    start_token: str
    """Opaque; no other process with this pid ever has the same one."""
    command: tuple[str, ...]
    is_dying: bool = False
    """True for a killed process whose threads still hold its ports and files."""

    def has_argument(self, argument: str) -> bool:
        """Return whether the text is one complete argument of the command line."""
        return argument in self.command


def start_token(pid: int) -> str | None:
    """Return the start token of a live process; None if there is none with this pid, or if it is dying."""
    process = read_process(pid)
    return None if process is None or process.is_dying else process.start_token


def read_process(pid: int) -> RunningProcess | None:
    """Return the process with this pid, or None if it is gone, a zombie or not visible to this user."""
    return _from_proc(pid) if _has_proc() else _from_ps(pid)


def process_ids() -> Iterator[int]:
    """Yield the pid of every process that this user can see."""
    if _has_proc():
        return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    listing = subprocess.run(["ps", "-ax", "-o", "pid="], capture_output=True, text=True, check=False)
    return (int(word) for word in listing.stdout.split())


def _has_proc() -> bool:
    return (PROC / "self" / "stat").exists()


def _from_proc(pid: int) -> RunningProcess | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
        command = (PROC / str(pid) / "cmdline").read_bytes()
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name in brackets may contain spaces and brackets: fields are counted after the last one.
    fields = stat.rpartition(")")[2].split()
    is_dying = fields[0] in "ZX"
    # A killed JVM is a zombie while some of its threads still run: it is not gone yet.
    if is_dying and int(fields[17]) <= 1:
        return None
    words = tuple(os.fsdecode(word) for word in command.split(b"\0")[:-1])
    return RunningProcess(pid, f"{boot}/{fields[19]}", words, is_dying)


def _from_ps(pid: int) -> RunningProcess | None:
    listing = subprocess.run(
        ["ps", "-ww", "-o", "lstart=", "-o", "stat=", "-o", "command=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    line = listing.stdout.strip()
    words = line[_LSTART_WIDTH:].split(maxsplit=1)
    if len(words) < 2 or words[0].startswith("Z"):
        return None
    return RunningProcess(pid, line[:_LSTART_WIDTH], _PsCommand((words[1],)))


class _PsCommand(tuple[str, ...]):
    """A command line as `ps` prints it, without borders between arguments: one is found by the spaces around it."""

    __slots__ = ()

    def __contains__(self, argument: object) -> bool:
        return f" {argument} " in f" {' '.join(self)} "
