"""A process is identified by its pid and its start time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from milepost.checkpoint.lease.epoch import is_alive
from milepost.job import process_identity
from milepost.job.process_identity import process_ids, read_process, start_token

EXITS_WITH_A_THREAD = """
import ctypes, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_keeps_its_token_and_no_other_has_it():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        ours, theirs = start_token(os.getpid()), start_token(child.pid)
        assert ours
        assert theirs
        assert ours == start_token(os.getpid())
        assert ours != theirs
        assert {os.getpid(), child.pid} <= set(process_ids())
    finally:
        child.communicate()
    assert start_token(child.pid) is None
    assert not is_alive(child.pid)
    assert is_alive(os.getpid())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_token_is_the_one_that_earlier_versions_stored():
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert start_token(os.getpid()) == f"{boot}/{ticks}"


def test_a_zombie_is_not_a_process():
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert read_process(child.pid) is None
    assert start_token(child.pid) is None
    child.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_process_whose_threads_outlive_it_is_dying_not_gone():
    child = subprocess.Popen(
        [sys.executable, "-c", EXITS_WITH_A_THREAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"ready\n"
        child.stdin.write(b"\n")
        child.stdin.flush()
        deadline = time.monotonic() + 30
        while (process := read_process(child.pid)) is None or not process.is_dying:
            assert time.monotonic() < deadline
        assert start_token(child.pid) is None
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert read_process(child.pid) is None


def test_without_proc_ps_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_identity, "PROC", Path("/nowhere"))
    token = start_token(os.getpid())
    assert token
    assert time.strptime(token)
    assert token == start_token(os.getpid())
    assert os.getpid() in set(process_ids())
