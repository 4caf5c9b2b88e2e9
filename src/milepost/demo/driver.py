"""Runs a job as a user does, `milepost run FILE` in its own process, and watches, stops or kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import JobFailedError
from milepost.job import registry

if TYPE_CHECKING:
    from typing_extensions import Self

_POLL_S = 0.005
_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class JobPosition:
    """The progress of a job, as read from its checkpoint directory."""

    completed: int | None
    """The newest completed checkpoint."""
    offsets: dict[tuple[str, int], int]
    """The next offset to read at that checkpoint, by topic and partition."""
    in_flight: int | None
    """The checkpoint that has started and is not completed."""

    @property
    def records(self) -> int:
        """The number of records up to the newest completed checkpoint, in a log that starts at offset 0."""
        return sum(self.offsets.values())


def read_position(layout: Layout) -> JobPosition:
    """Return the position of the job from its files alone, which survive a kill."""
    completed = newest_completed(LocalStore(layout.root))
    begun = max((int(p.name) for p in _files(layout.offsets) if p.name.isdigit()), default=None)
    newest = None if completed is None else completed.batch_id
    offsets = {
        (topic, partition): offset
        for source in (completed.sources if completed else ())
        for topic, partitions in source.items()
        for partition, offset in partitions.items()
    }
    in_flight = begun if begun is not None and (newest is None or begun > newest) else None
    return JobPosition(newest, offsets, in_flight)


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


class Driver:
    """One `milepost run` process and its children, in their own session.

    As a context manager it kills the process at the end of the block if it is still running.
    """

    def __init__(
        self, pipeline: Path, log: Path, layout: Layout, *, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start the process; its output goes to the log, and `environment` is added to the current one."""
        self.log = log
        self.layout = layout
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "milepost", "run", str(pipeline)],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                # The JVM is in the same process group, so one signal reaches both.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.poll()

    def wait_until(
        self,
        reached: Callable[[JobPosition], bool],
        what: str,
        *,
        timeout: float,
        every: float = _POLL_S,
    ) -> JobPosition:
        """Wait for a position and return it; raise an error if the job ends first.

        `every` is the polling interval in seconds; a short one does not miss a brief position.
        """
        deadline = time.monotonic() + timeout
        pause = threading.Event()
        while True:
            position = read_position(self.layout)
            if reached(position):
                return position
            if self._process.poll() is not None:
                raise self._failed(f"The job ended with exit code {self._process.returncode} before {what}")
            if time.monotonic() > deadline:
                raise self._failed(f"The job did not reach this within {timeout:.0f} s: {what}")
            pause.wait(every)

    def wait(self, *, timeout: float) -> int:
        """Wait until the job ends by itself, and return its exit code."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise self._failed(f"The job did not end within {timeout:.0f} s") from None

    def kill(self) -> None:
        """Kill driver and JVM with SIGKILL, as a power failure would."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        registry.sweep()

    def stop(self, *, timeout: float) -> int:
        """Request a clean stop, as Ctrl-C does, and return the exit code."""
        self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise self._failed(f"The job did not stop within {timeout:.0f} s of Ctrl-C") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _failed(self, what: str) -> JobFailedError:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        return JobFailedError(what, why="its output ends with:\n    " + "\n    ".join(lines))
