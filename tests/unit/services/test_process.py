from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from milepost.job import process_identity
from milepost.job.process_identity import RunningProcess
from milepost.services.process import end, find, observe, spawn

# With our pid, since every process of the machine is looked at: another run of this file has its own.
MARKER = f"-Dmilepost.services=/tmp/{os.getpid()} a path with spaces"
IGNORES_SIGTERM = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
signal.pause()
"""


def command_of(pid: int) -> tuple[str, ...]:
    running = observe(pid)
    assert running is not None
    return running.command


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "out.log"


@pytest.fixture
def child(log: Path) -> Iterator[int]:
    command = [sys.executable, "-c", "import signal; signal.pause()", MARKER]
    pid = spawn(command, os.environ, log=log, folder=log.parent)
    # A process is there a moment before its command line is.
    while not command_of(pid):
        pass
    yield pid
    running = observe(pid)
    if running is not None:
        end(running, timeout=timedelta(seconds=0))


def test_spawned_process_is_seen_with_its_command_line(child: int):
    running = observe(child)
    assert running is not None
    assert running.has_argument(MARKER)
    assert not running.has_argument(f"-Dmilepost.services=/tmp/{os.getpid()}")
    assert os.getsid(child) == child


def test_found_by_its_marker_alone(child: int):
    running = find(MARKER)
    assert running is not None
    assert running.pid == child
    assert find("-Dmilepost.services=/nobody") is None


def test_ended_process_is_gone_and_collected(child: int):
    running = observe(child)
    assert running is not None
    assert end(running, timeout=timedelta(seconds=10))
    assert observe(child) is None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_process_that_ignores_sigterm_is_killed(log: Path):
    pid = spawn([sys.executable, "-u", "-c", IGNORES_SIGTERM], os.environ, log=log, folder=log.parent)
    while "ready" not in log.read_text():
        assert observe(pid) is not None
    running = observe(pid)
    assert running is not None
    assert end(running, timeout=timedelta(milliseconds=100))
    assert observe(pid) is None


def test_end_spares_a_successor_with_the_same_pid(child: int):
    assert end(RunningProcess(child, "another start", (MARKER,)), timeout=timedelta(seconds=1))
    assert observe(child) is not None


def test_output_goes_to_the_log(log: Path):
    pid = spawn([sys.executable, "-c", "print('hello')"], os.environ, log=log, folder=log.parent)
    while observe(pid) is not None:
        pass
    assert log.read_text() == "hello\n"


def test_exit_status_of_other_children_is_left_to_their_parent():
    other = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert observe(other.pid) is None
    assert other.wait() == 7


def test_unknown_pid_is_not_a_process():
    assert observe(2**22 + 1) is None


def test_ps_is_read_without_proc(child: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_identity, "PROC", Path("/nowhere"))
    running = observe(child)
    assert running is not None
    assert running.has_argument(MARKER)
    assert not running.has_argument("-Dmilepost.services=/nobody")
    assert find(MARKER) == running
    os.kill(child, signal.SIGKILL)
    while observe(child) is not None:
        pass
