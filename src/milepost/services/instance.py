"""Starts, stops and reports the embedded services of one directory."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from milepost.errors import ServicesError
from milepost.services.daemon import Daemon
from milepost.services.hbase import HBase
from milepost.services.java import find_java
from milepost.services.kafka import Kafka
from milepost.services.model import ALL, HBASE, KAFKA, Endpoints, ServiceStatus, Settings, State

LOCK_POLL_SECONDS = 0.1


def _silent(line: str) -> None:
    del line


class Services:
    """The embedded Kafka and HBase of one directory; several directories run side by side.

    The JVMs do not depend on this object: they run until `down` is called.
    As a context manager it starts both on enter and stops them on exit, also if the start fails part-way.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        settings: Settings | None = None,
        report: Callable[[str], None] = _silent,
    ) -> None:
        """Use this directory; nothing is created before `up`."""
        self.directory = Path(directory).expanduser().resolve()
        self._report = report
        chosen = settings or Settings()
        self._daemons = {
            KAFKA: Daemon(Kafka(self.directory / KAFKA, chosen), report),
            HBASE: Daemon(HBase(self.directory / HBASE, chosen), report),
        }
        self._lock_timeout = chosen.start_timeout + chosen.stop_timeout

    def up(self, only: frozenset[str] = ALL) -> Endpoints:
        """Start the services that are not running, wait until clients can use them, and return their addresses.

        Either all requested services are usable afterwards, or those that this call started are stopped again.
        """
        refuse_directory(self.directory)
        unknown = sorted(only - ALL)
        if unknown:
            raise ServicesError(f"There is no embedded service {unknown[0]!r}", fix="Choose kafka or hbase")
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._lock():
            missing = []
            for daemon in (self._daemons[name] for name in sorted(only)):
                daemon.refuse_foreign_folder()
                if daemon.is_up():
                    self._report(f"{daemon.name}: already running at {daemon.status().address}")
                else:
                    missing.append(daemon)
            if missing:
                _start_all(missing)
            return self.endpoints()

    def down(self) -> tuple[str, ...]:
        """Stop the services of this directory, wait until they are gone, and return their names."""
        if not any((self.directory / name).exists() for name in ALL):
            return ()
        with self._lock(), ThreadPoolExecutor(len(self._daemons)) as pool:
            stopped = {name: pool.submit(daemon.stop) for name, daemon in self._daemons.items()}
            return tuple(name for name, answer in stopped.items() if answer.result())

    def status(self) -> list[ServiceStatus]:
        """Return the state of every service; takes no lock, so it also works during a start."""
        return [daemon.status() for daemon in self._daemons.values()]

    def endpoints(self) -> Endpoints:
        """Return the addresses of the running services."""
        at = {each.name: each.address for each in self.status() if each.state is State.RUNNING}
        return Endpoints(bootstrap_servers=at.get(KAFKA, ""), quorum=at.get(HBASE, ""))

    def __enter__(self) -> Endpoints:
        try:
            return self.up()
        except BaseException:
            self.down()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Allow one process at a time to start or stop; the system releases the lock of a process that dies."""
        deadline = time.monotonic() + self._lock_timeout.total_seconds()
        pause = threading.Event()
        with (self.directory / "lock").open("a") as file:
            if not _try_lock(file):
                self._report(f"waiting for another process that starts or stops services in {self.directory}")
                while not _try_lock(file):
                    if time.monotonic() > deadline:
                        raise ServicesError(
                            f"{self.directory} is locked",
                            why="Another `milepost services` command has been running there for too long",
                            fix="Wait for it to end, or end it, then try again",
                        )
                    pause.wait(LOCK_POLL_SECONDS)
            yield


def refuse_directory(directory: Path) -> None:
    """Refuse a directory whose name the servers would misread; spaces and accents are allowed."""
    bad = sorted({char for char in str(directory) if char in ",:" or ord(char) < 32})
    if bad:
        raise ServicesError(
            f"The services cannot use {directory}",
            why=f"The path contains {bad[0]!r}, which separates entries in Kafka's or Java's lists of paths",
            fix="Choose a directory without this character",
        )


def _start_all(daemons: list[Daemon]) -> None:
    java = find_java()
    cancel = threading.Event()
    pool = ThreadPoolExecutor(len(daemons))
    try:
        starts = [pool.submit(daemon.start, java, cancel) for daemon in daemons]
        done, _ = wait(starts, return_when=FIRST_EXCEPTION)
        # The first failure is the cause; the others were cancelled because of it.
        for start in done:
            start.result()
    except BaseException:
        cancel.set()
        pool.shutdown(wait=True)
        for daemon in daemons:
            daemon.stop()
        raise
    finally:
        pool.shutdown(wait=True)


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
