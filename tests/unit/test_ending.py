"""A test run that is ended from outside leaves nothing behind that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.ending import MARK, kill_marked
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]

WAITS = """
import pathlib, subprocess, sys, time
import pytest

HERE = pathlib.Path(__file__)

@pytest.fixture(scope="session")
def service():
    yield
    HERE.with_name("torn-down").touch()

def test_that_waits(service):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    HERE.with_name("part").write_text(str(child.pid))
    HERE.with_name("part").replace(HERE.with_name("pid"))
    child.wait()
"""


@contextmanager
def waiting_run(folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Lend out a run of its own with one test that has started a process and waits."""
    (folder / "test_waits.py").write_text(WAITS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.ending",
        f"--rootdir={folder}",
        "-c",
        os.devnull,
    ]
    with subprocess.Popen(
        [*command, *options, str(folder / "test_waits.py")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        try:
            wait_until(lambda: (folder / "pid").exists() or run.poll() is not None, "the test has begun")
            assert run.poll() is None, "the run ended by itself"
            yield run
        finally:
            run.kill()


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_a_signal_ends(tmp_path: Path, number: signal.Signals, workers: str):
    with waiting_run(tmp_path, "--numprocesses", workers) as run:
        started = psutil.Process(int((tmp_path / "pid").read_text()))
        assert started.is_running()
        run.send_signal(number)
        run.wait(PATIENCE_S)
    wait_until(lambda: not started.is_running() or started.status() == psutil.STATUS_ZOMBIE, "it is gone")


def test_fixtures_are_torn_down_when_a_run_is_asked_to_end(tmp_path: Path):
    with waiting_run(tmp_path, "--numprocesses", "0") as run:
        run.terminate()
        assert run.wait(PATIENCE_S) == pytest.ExitCode.INTERRUPTED
    assert (tmp_path / "torn-down").exists()


def test_only_what_holds_the_mark_is_killed():
    marked, other = (
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, MARK: mark}
        )
        for mark in ("this-one", "another")
    )
    try:
        kill_marked("this-one")
        assert marked.wait(PATIENCE_S) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
