"""One embedded service as a child JVM with a record on disk: started, recognised again, ended."""

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
from milepost.services.ports import answers, choose_ports
from milepost.services.record import Record

RECORD = "process.json"
ATTEMPTS = 3
POLL_SECONDS = 0.1
LAST_LINES = 20
PORT_TAKEN = ("Address already in use", "Could not start ZK at requested port")

# A JVM whose threads hang does not end by itself, and has nothing left to write.
_HANGING = timedelta(seconds=1)
_LOGGED_ERROR = re.compile(r"\b(?:ERROR|FATAL) \S+ - (?P<words>.*)")
_THROWN = re.compile(r"(?:Exception in thread .*|Error: .*|(?:[a-z][\w$]*\.)+[\w$]*(?:Exception|Error)\b.*)$")

LOGGING = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper=warn",
)


class Service(Protocol):
    """What a daemon must know about the server it runs."""

    @property
    def name(self) -> str:
        """Return `kafka` or `hbase`."""

    @property
    def folder(self) -> Path:
        """Return the folder that holds all it writes."""

    @property
    def settings(self) -> Settings:
        """Return what the user wants different."""

    @property
    def port_names(self) -> tuple[str, ...]:
        """Return what its ports are for; clients use the first."""

    @property
    def gives_up(self) -> tuple[str, ...]:
        """Return the words in its log after which it serves nobody, although its process stays."""

    def address(self, ports: Mapping[str, int]) -> str:
        """Return where clients connect."""

    def classpath(self) -> str:
        """Return the class path of the JVM."""

    def configure(self, ports: Mapping[str, int], java: Path) -> None:
        """Write what the server reads at start; called before every start, never while it runs."""

    def command(self) -> list[str]:
        """Return JVM options of its own, main class and arguments."""

    def is_usable(self, ports: Mapping[str, int], *, java: Path, waited: timedelta) -> bool:
        """Try once whether a client could use it now; called again and again until it is."""


class Outcome(Enum):
    """How waiting for a started service ended."""

    READY = "a client can use it"
    DIED = "its process ended"
    GAVE_UP = "it gave up, and its process hangs"
    TIMED_OUT = "it did not become usable in time"
    CANCELLED = "another service failed or the user gave up"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A service with its process: the only place that starts and ends one."""

    service: Service
    report: Callable[[str], None]

    @property
    def name(self) -> str:
        """Return the service's name."""
        return self.service.name

    @property
    def log(self) -> Path:
        """Return the file that takes all output of the JVM."""
        return self.service.folder / "log" / f"{self.name}.log"

    @property
    def marker(self) -> str:
        """Return the argument that tells our JVM from every other; a copied directory has another one."""
        return f"-Dmilepost.services={self.service.folder}"

    def status(self) -> ServiceStatus:
        """Return the state now; looks only."""
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
        """Return whether it runs and still accepts connections."""
        known = record.load(self._record_file)
        return self.status().state is State.RUNNING and answers(known.ports[self.service.port_names[0]])

    def start(self, java: Path, cancel: threading.Event) -> None:
        """Bring the service up and wait until a client can use it; a failed start leaves nothing running."""
        begun = time.monotonic()
        try:
            outcome = self._start(java, cancel)
        except BaseException:
            self.stop()
            raise
        if outcome is not Outcome.READY:
            failure = self._failure(outcome, time.monotonic() - begun)
            # At once: what else was started has to end before the error itself is seen.
            self.report(f"{self.name}: {outcome.value}; {failure.why.strip()}")
            self._end(_HANGING if outcome is Outcome.GAVE_UP else self.service.settings.stop_timeout)
            raise failure
        known = record.load(self._record_file)
        address = self.service.address(known.ports)
        self.report(f"{self.name}: ready at {address} after {time.monotonic() - begun:.1f} s")

    def stop(self) -> bool:
        """End the process if it is ours and wait until it is gone; return whether there was one."""
        return self._end(self.service.settings.stop_timeout)

    def _end(self, patience: timedelta) -> bool:
        ours = self._own_process()
        if ours is None:
            return False
        if not process.end(ours, timeout=patience):
            raise ServicesError(
                f"The embedded {self.name} (pid {ours.pid}) did not end",
                why="It survived SIGTERM and SIGKILL; it is probably waiting for a disk",
                fix=f"Look at {self.log}, then run `milepost services down` again",
            )
        known = record.load(self._record_file)
        record.save(self._record_file, Record(ports=known.ports))
        return True

    def refuse_foreign_folder(self) -> None:
        """Refuse a folder with content that is not ours: starting there would write between it."""
        folder = self.service.folder
        if folder.exists() and any(folder.iterdir()) and not any(folder.glob(f"{RECORD}*")):
            raise ServicesError(
                f"The embedded {self.name} cannot live in {folder}",
                why="The folder is not empty and was not made by `milepost services up`",
                fix="Choose another directory with --dir",
            )

    @property
    def _record_file(self) -> Path:
        return self.service.folder / RECORD

    def _own_process(self) -> RunningProcess | None:
        """Return our process by its record, else by its marker: a crash may have come before the record."""
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
            self.report(f"{self.name}: ended a process that was left over")
        for _ in range(ATTEMPTS):
            self._launch(java)
            outcome = self._await(java, cancel)
            if outcome not in (Outcome.DIED, Outcome.GAVE_UP) or not self._lost_its_port():
                return outcome
            self._end(_HANGING)
            self.report(f"{self.name}: a port was taken meanwhile, trying others")
        return outcome

    def _launch(self, java: Path) -> None:
        known = record.load(self._record_file)
        ports = choose_ports(self.service.port_names, known.ports)
        # First of all: it shows that the folder is ours, whatever happens next.
        record.save(self._record_file, Record(ports=ports))
        self.service.configure(ports, java)
        self._set_former_log_aside()
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
            if self._has_given_up():
                return Outcome.GAVE_UP
            if self.service.is_usable(known.ports, java=java, waited=waited):
                record.save(self._record_file, replace(known, ready=True))
                return Outcome.READY
            if waited > self.service.settings.start_timeout:
                return Outcome.TIMED_OUT
        return Outcome.CANCELLED

    def _set_former_log_aside(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))

    def _has_given_up(self) -> bool:
        marks = self.service.gives_up
        return bool(marks) and any(mark in self._log_text() for mark in marks)

    def _lost_its_port(self) -> bool:
        return any(sign in self._log_text() for sign in PORT_TAKEN)

    def _log_text(self) -> str:
        try:
            return self.log.read_text(errors="replace")
        except OSError:
            return ""

    def _failure(self, outcome: Outcome, seconds: float) -> ServicesError:
        what = f"The embedded {self.name} was not started: {outcome.value} ({seconds:.0f} s)"
        fix, text = f"The whole log is {self.log}", self._log_text()
        error = first_error(text) if outcome is not Outcome.CANCELLED else None
        if error is not None:
            return ServicesError(what, why=f"the first error in its log is: {error}", fix=fix)
        lines = "\n".join(f"  {line}" for line in last_lines(text))
        return ServicesError(
            what, why=f"The last lines of {self.log} are:\n{lines or '  (nothing)'}\n", fix=fix
        )


def first_error(log: str) -> str | None:
    """Return what the first error in a log says, with the exception below it; None where there is none."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if logged := _LOGGED_ERROR.search(line):
            below = lines[number + 1] if number + 1 < len(lines) else ""
            words = logged["words"].strip("* ")
            detail = plain(below) if _THROWN.match(below) else ""
            return f"{words}: {detail}"[:500] if detail and detail not in words else words[:500]
        if _THROWN.match(line):
            return line.strip()[:500]
    return None


def last_lines(log: str, count: int = LAST_LINES) -> list[str]:
    """Return the end of a log for a person: long lines cut, stack frames left out, causes kept."""
    frames = ("\tat ", "\t... ")
    return [line[:300] for line in log.splitlines() if line.strip() and not line.startswith(frames)][-count:]
