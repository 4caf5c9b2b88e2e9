"""Starts, recognises and ends one embedded service: a child JVM with a record on disk."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Protocol

from milepost.errors import ServicesError
from milepost.job.process_identity import RunningProcess
from milepost.sentence import plain
from milepost.services import process, record
from milepost.services.java import child_environment
from milepost.services.model import ServiceStatus, Settings, State
from milepost.services.ports import accepts_connections, choose_ports
from milepost.services.record import Record

RECORD = "process.json"
ATTEMPTS = 3
POLL_SECONDS = 0.1
LAST_LINES = 20
PORT_TAKEN = ("Address already in use", "Could not start ZK at requested port")

# A JVM that hangs does not end by itself and has nothing left to write.
_HUNG_STOP_TIMEOUT = timedelta(seconds=1)
_LOGGED_ERROR = re.compile(r"\b(?:ERROR|FATAL) \S+ - (?P<words>.*)")
_THROWN = re.compile(r"(?:Exception in thread .*|Error: .*|(?:[a-z][\w$]*\.)+[\w$]*(?:Exception|Error)\b.*)$")

LOGGING = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper=warn",
)


class Service(Protocol):
    """The properties of the server that a daemon runs."""

    @property
    def name(self) -> str:
        """Return `kafka` or `hbase`."""

    @property
    def folder(self) -> Path:
        """Return the folder of all its files."""

    @property
    def settings(self) -> Settings:
        """Return the user's settings."""

    @property
    def port_names(self) -> tuple[str, ...]:
        """Return the names of its ports; clients use the first."""

    @property
    def abort_markers(self) -> tuple[str, ...]:
        """Return the log texts after which it serves no requests although its process still runs."""

    def address(self, ports: Mapping[str, int]) -> str:
        """Return where clients connect."""

    def classpath(self) -> str:
        """Return the class path of the JVM."""

    def configure(self, ports: Mapping[str, int], java: Path) -> None:
        """Write the files that the server reads at start; called before every start, never while it runs."""

    def command(self) -> list[str]:
        """Return its JVM options, main class and arguments."""

    def is_usable(self, ports: Mapping[str, int], *, java: Path, waited: timedelta) -> bool:
        """Check once whether a client can use it now; called repeatedly until it can."""


class Outcome(Enum):
    """The outcome of waiting for a started service."""

    READY = "a client can use it"
    DIED = "its process ended"
    ABORTED = "it aborted, and its process hangs"
    TIMED_OUT = "it did not become usable in time"
    CANCELLED = "another service failed, or the start was interrupted"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A service and its process; only this class starts and ends one."""

    service: Service
    report: Callable[[str], None]

    @property
    def name(self) -> str:
        """Return the service's name."""
        return self.service.name

    @property
    def log(self) -> Path:
        """Return the file with all output of the JVM."""
        return self.service.folder / "log" / f"{self.name}.log"

    @property
    def marker(self) -> str:
        """Return the argument that identifies our JVM; a copied directory has another one."""
        return f"-Dmilepost.services={self.service.folder}"

    def status(self) -> ServiceStatus:
        """Return the current state without changing anything."""
        known = record.load(self._record_file)
        running = process.observe(known.pid) if known.pid is not None else None
        state = record.judge(known, running, self.marker)
        alive = state in (State.RUNNING, State.STARTING)
        since = record.started_at(known)
        return ServiceStatus(
            name=self.name,
            state=state,
            pid=known.pid if alive else None,
            address=self.service.address(known.ports) if alive else "",
            log=self.log,
            uptime=datetime.now(timezone.utc) - since if alive and since else None,
        )

    def is_up(self) -> bool:
        """Return whether it is running and accepts connections."""
        known = record.load(self._record_file)
        return self.status().state is State.RUNNING and accepts_connections(
            known.ports[self.service.port_names[0]]
        )

    def start(self, java: Path, cancel: threading.Event) -> None:
        """Start the service and wait until a client can use it; a failed start leaves nothing running."""
        begun = time.monotonic()
        try:
            outcome = self._start(java, cancel)
        except BaseException:
            self.stop()
            raise
        if outcome is not Outcome.READY:
            failure = self._failure(outcome, time.monotonic() - begun)
            # Immediately: the error itself is raised only after the other services have ended.
            self.report(f"{self.name}: {outcome.value}; {failure.why.strip()}")
            self._end(
                _HUNG_STOP_TIMEOUT if outcome is Outcome.ABORTED else self.service.settings.stop_timeout
            )
            raise failure
        known = record.load(self._record_file)
        address = self.service.address(known.ports)
        self.report(f"{self.name}: ready at {address} after {time.monotonic() - begun:.1f} s")

    def stop(self) -> bool:
        """End the process if it is ours, and wait until it is gone; return whether there was one."""
        return self._end(self.service.settings.stop_timeout)

    def _end(self, timeout: timedelta) -> bool:
        ours = self._own_process()
        if ours is None:
            return False
        if not process.end(ours, timeout=timeout):
            raise ServicesError(
                f"The embedded {self.name} (pid {ours.pid}) did not end",
                why="It survived SIGTERM and SIGKILL; it is probably blocked on disk I/O",
                fix=f"Check {self.log}, then run `milepost services down` again",
            )
        known = record.load(self._record_file)
        record.save(self._record_file, Record(ports=known.ports))
        return True

    def refuse_foreign_folder(self) -> None:
        """Refuse a folder that contains files of others: the service would write among them."""
        folder = self.service.folder
        if folder.exists() and any(folder.iterdir()) and not any(folder.glob(f"{RECORD}*")):
            raise ServicesError(
                f"The embedded {self.name} cannot use {folder}",
                why="The folder is not empty and was not created by `milepost services up`",
                fix="Choose another directory with --dir",
            )

    @property
    def _record_file(self) -> Path:
        return self.service.folder / RECORD

    def _own_process(self) -> RunningProcess | None:
        """Return our process by its record, or else by its marker: a crash may have prevented the record."""
        known = record.load(self._record_file)
        running = process.observe(known.pid) if known.pid is not None else None
        if record.is_ours(known, running, self.marker):
            return running
        return process.find(self.marker)

    def _start(self, java: Path, cancel: threading.Event) -> Outcome:
        if self.status().state is State.STARTING:
            self.report(f"{self.name}: already starting, log {self.log}")
            return self._await(java, cancel)
        if self.stop():
            self.report(f"{self.name}: ended a process left over from an earlier run")
        for _ in range(ATTEMPTS):
            self._launch(java)
            outcome = self._await(java, cancel)
            if outcome not in (Outcome.DIED, Outcome.ABORTED) or not self._lost_its_port():
                return outcome
            self._end(_HUNG_STOP_TIMEOUT)
            self.report(f"{self.name}: another process took a port, trying other ports")
        return outcome

    def _launch(self, java: Path) -> None:
        known = record.load(self._record_file)
        ports = choose_ports(self.service.port_names, known.ports)
        # First: the record marks the folder as ours, whatever happens next.
        record.save(self._record_file, Record(ports=ports))
        self.service.configure(ports, java)
        self._rotate_log()
        flags = [self.marker, "-Djava.net.preferIPv4Stack=true", "-XX:+ExitOnOutOfMemoryError", *LOGGING]
        error_file = f"-XX:ErrorFile={self.log.parent}/crash-%p.log"
        command = [str(java), *flags, error_file, *self.service.command()]
        environment = child_environment(self.service.classpath())
        pid = process.spawn(command, environment, log=self.log, folder=self.service.folder)
        started = process.observe(pid)
        token = started.start_token if started else ""
        since = datetime.now(timezone.utc).isoformat()
        record.save(self._record_file, Record(pid=pid, start_token=token, since=since, ports=ports))
        self.report(f"{self.name}: starting, log {self.log}")

    def _await(self, java: Path, cancel: threading.Event) -> Outcome:
        known = record.load(self._record_file)
        begun = time.monotonic()
        while not cancel.wait(POLL_SECONDS):
            waited = timedelta(seconds=time.monotonic() - begun)
            if self.status().state is not State.STARTING:
                return Outcome.DIED
            if self._has_aborted():
                return Outcome.ABORTED
            if self.service.is_usable(known.ports, java=java, waited=waited):
                record.save(self._record_file, replace(known, ready=True))
                return Outcome.READY
            if waited > self.service.settings.start_timeout:
                return Outcome.TIMED_OUT
        return Outcome.CANCELLED

    def _rotate_log(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))

    def _has_aborted(self) -> bool:
        markers = self.service.abort_markers
        return bool(markers) and any(marker in self._log_text() for marker in markers)

    def _lost_its_port(self) -> bool:
        return any(sign in self._log_text() for sign in PORT_TAKEN)

    def _log_text(self) -> str:
        try:
            return self.log.read_text(errors="replace")
        except OSError:
            return ""

    def _failure(self, outcome: Outcome, seconds: float) -> ServicesError:
        what = f"The embedded {self.name} was not started: {outcome.value} ({seconds:.0f} s)"
        fix, text = f"The complete log is {self.log}", self._log_text()
        error = first_error(text) if outcome is not Outcome.CANCELLED else None
        if error is not None:
            return ServicesError(what, why=f"the first error in its log is: {error}", fix=fix)
        lines = "\n".join(f"  {line}" for line in last_lines(text))
        return ServicesError(
            what, why=f"The last lines of {self.log} are:\n{lines or '  (nothing)'}\n", fix=fix
        )


def first_error(log: str) -> str | None:
    """Return the first error in a log with the exception below it; None if there is none."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if logged := _LOGGED_ERROR.search(line):
            below = lines[number + 1] if number + 1 < len(lines) else ""
            message = logged["words"].strip("* ")
            detail = plain(below) if _THROWN.match(below) else ""
            return f"{message}: {detail}"[:500] if detail and detail not in message else message[:500]
        if _THROWN.match(line):
            return line.strip()[:500]
    return None


def last_lines(log: str, count: int = LAST_LINES) -> list[str]:
    """Return the end of a log: long lines are cut, stack frames omitted, causes kept."""
    frames = ("\tat ", "\t... ")
    return [line[:300] for line in log.splitlines() if line.strip() and not line.startswith(frames)][-count:]
