"""What a test run starts ends with it, however the run ends: by its last test, by a signal or by a kill.

SIGTERM is answered as Ctrl-C: fixtures are torn down, reports are written. For what then is still there, and for a run
that is killed, each process of the run has a watch: `python -m tests.ending MARK` reads from a pipe that nobody writes
to, and kills every process whose environment holds the mark as soon as the pipe closes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

import psutil
import pytest

MARK = "MILEPOST_TEST_RUN"
"""Environment variable that everything inherits that this process starts."""


def pytest_configure(config: pytest.Config) -> None:
    signal.signal(signal.SIGTERM, partial(_interrupt, config))
    # The workers are processes of their own, which have this plugin too.
    stack = ExitStack()
    stack.enter_context(watched())
    config.add_cleanup(stack.close)


@contextmanager
def watched() -> Iterator[None]:
    """Start nothing that outlives this process."""
    before, mark = os.environ.get(MARK), uuid.uuid4().hex
    watch = subprocess.Popen(
        [sys.executable, "-m", "tests.ending", mark],
        cwd=Path(__file__).parents[1],
        # Without the mark of the process that has started this one: it must outlive both.
        env={name: value for name, value in os.environ.items() if name != MARK},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ[MARK] = mark
    try:
        yield
    finally:
        _restore(before)
        assert watch.stdin is not None
        watch.stdin.close()
        watch.wait()


@contextmanager
def unmarked() -> Iterator[None]:
    """Start what may stay when the run ends."""
    mark = os.environ.pop(MARK, None)
    try:
        yield
    finally:
        _restore(mark)


def _restore(mark: str | None) -> None:
    os.environ.pop(MARK, None)
    if mark is not None:
        os.environ[MARK] = mark


def _interrupt(config: pytest.Config, number: int, frame: FrameType | None) -> None:
    """Let the workers know at once, whatever their tests are waiting for, and go on as after Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # once: tearing down takes its time
    if config.pluginmanager.hasplugin("dsession"):
        for worker in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):
                worker.terminate()
    signal.default_int_handler(number, frame)


def kill_marked(mark: str) -> None:
    """Kill every process that holds the mark, and those that they start meanwhile."""
    pause = threading.Event()
    while left := [process for process in psutil.process_iter() if _holds(process, mark)]:
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        pause.wait(0.05)


def _holds(process: psutil.Process, mark: str) -> bool:
    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark
    return False


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_marked(sys.argv[1])
