from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from milepost.services import process
from milepost.services.process import Sighting, end, find, observe, spawn

# With our pid, since every process of the machine is looked at: another run of this file has its own.
MARKER = f"-Dmilepost.services=/tmp/{os.getpid()} a path with spaces"
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
signal.pause()
"""


def command_of(pid: int) -> tuple[str, ...]:
    sighting = observe(pid)
    assert sighting is not None
    return sighting.command


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
    sighting = observe(pid)
    if sighting is not None:
        end(sighting, timeout=timedelta(seconds=0))


def test_spawned_process_is_seen_with_its_command_line(child: int):
    sighting = observe(child)
    assert sighting is not None
    assert sighting.carries(MARKER)
    assert not sighting.carries(f"-Dmilepost.services=/tmp/{os.getpid()}")
    assert os.getsid(child) == child


def test_found_by_its_marker_alone(child: int):
    sighting = find(MARKER)
    assert sighting is not None
    assert sighting.pid == child
    assert find("-Dmilepost.services=/nobody") is None


def test_ended_process_is_gone_and_collected(child: int):
    sighting = observe(child)
    assert sighting is not None
    assert end(sighting, timeout=timedelta(seconds=10))
    assert observe(child) is None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_process_deaf_to_sigterm_is_forced(log: Path):
    pid = spawn([sys.executable, "-u", "-c", STUBBORN], os.environ, log=log, folder=log.parent)
    while "deaf" not in log.read_text():
        assert observe(pid) is not None
    sighting = observe(pid)
    assert sighting is not None
    assert end(sighting, timeout=timedelta(milliseconds=100))
    assert observe(pid) is None


def test_end_spares_a_successor_with_the_same_pid(child: int):
    assert end(Sighting(child, "another birth", (MARKER,)), timeout=timedelta(seconds=1))
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


def test_unknown_pid_is_nobody():
    assert observe(2**22 + 1) is None


def test_ps_tells_the_same_where_there_is_no_proc(child: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "PROC", Path("/nowhere"))
    sighting = observe(child)
    assert sighting is not None
    assert sighting.carries(MARKER)
    assert not sighting.carries("-Dmilepost.services=/nobody")
    assert find(MARKER) == sighting
    os.kill(child, signal.SIGKILL)
    while observe(child) is not None:
        pass
