"""Starts, recognises and ends child processes; never signals a process unless it is certainly ours."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from milepost.job.process_identity import RunningProcess, process_ids, read_process

POLL_SECONDS = 0.05

# Only these are reaped when dead: the exit status of any other child belongs to the code that started it.
_spawned: set[int] = set()


def observe(pid: int) -> RunningProcess | None:
    """Return the process with this pid, or None if it is gone, a zombie or not visible to this user."""
    if pid in _spawned:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return read_process(pid)


def find(marker: str) -> RunningProcess | None:
    """Return the running process that has the marker as an argument, with or without a record of it."""
    for pid in process_ids():
        process = observe(pid) if pid != os.getpid() else None
        if process is not None and process.has_argument(marker):
            return process
    return None


def spawn(command: Sequence[str], environment: Mapping[str, str], *, log: Path, folder: Path) -> int:
    """Start a process that outlives this one and does not receive Ctrl-C from the terminal; return its pid."""
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
    # Released on purpose: `observe` reaps it, and Popen must not complain that it still runs.
    child.returncode = 0
    _spawned.add(child.pid)
    return child.pid


def end(process: RunningProcess, *, timeout: timedelta) -> bool:
    """Send SIGTERM to the process, SIGKILL after the timeout, and return whether it is gone."""
    for number, limit in ((signal.SIGTERM, timeout), (signal.SIGKILL, timedelta(seconds=10))):
        if not _is_running(process):
            return True
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
        if _is_gone_within(process, limit):
            return True
    return False


def _is_running(process: RunningProcess) -> bool:
    now = observe(process.pid)
    return now is not None and now.start_token == process.start_token


def _is_gone_within(process: RunningProcess, timeout: timedelta) -> bool:
    deadline = time.monotonic() + timeout.total_seconds()
    pause = threading.Event()
    while _is_running(process):
        if time.monotonic() > deadline:
            return False
        pause.wait(POLL_SECONDS)
    return True
