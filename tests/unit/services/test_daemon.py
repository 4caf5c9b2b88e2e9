from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from milepost.errors import ServicesError
from milepost.services import process, record
from milepost.services.daemon import Daemon, first_error, last_lines
from milepost.services.model import Settings, State
from milepost.services.record import Record

LIVES = "touch log/up; while :; do sleep 0.1; done"
DIES = "echo the disk is full; exit 1"
LOSES_ITS_PORT_ONCE = f"""
if [ -e log/second ]; then {LIVES}; fi
touch log/second
echo Address already in use
exit 1
"""
PATIENT = Settings()
HASTY = Settings(start_timeout=timedelta(milliseconds=300))


@dataclass(frozen=True)
class Toy:
    """A service that is a shell script."""

    folder: Path
    usable: bool = True
    settings: Settings = PATIENT
    name: str = "toy"
    port_names: tuple[str, ...] = ("main",)
    abort_markers: tuple[str, ...] = ("***** ABORTING",)
    configured: list[Mapping[str, int]] = field(default_factory=list)

    def address(self, ports: Mapping[str, int]) -> str:
        return f"127.0.0.1:{ports['main']}"

    def classpath(self) -> str:
        return "toy.jar"

    def configure(self, ports: Mapping[str, int], java: Path) -> None:
        (self.folder / "log" / "up").unlink(missing_ok=True)
        self.configured.append(ports)

    def command(self) -> list[str]:
        return ["Toy"]

    def is_usable(self, ports: Mapping[str, int], *, java: Path, waited: timedelta) -> bool:
        return self.usable and (self.folder / "log" / "up").exists()


def script(folder: Path, body: str) -> Path:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\n{body}\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "a folder"
    yield place
    Daemon(Toy(place), print).stop()


def test_started_daemon_runs_and_reports_its_address(folder: Path, tmp_path: Path):
    said: list[str] = []
    daemon = Daemon(Toy(folder), said.append)
    daemon.start(script(tmp_path, LIVES), threading.Event())
    status = daemon.status()
    assert status.state is State.RUNNING
    assert status.pid is not None
    assert status.uptime is not None
    assert status.uptime >= timedelta(0)
    assert [line.split(",")[0].split(" at ")[0] for line in said] == ["toy: starting", "toy: ready"]
    assert status.address in said[-1]


def test_stopped_daemon_is_gone_and_keeps_its_ports(folder: Path, tmp_path: Path):
    toy = Toy(folder)
    daemon = Daemon(toy, print)
    daemon.start(script(tmp_path, LIVES), threading.Event())
    pid = daemon.status().pid
    assert pid is not None
    assert daemon.stop()
    assert process.observe(pid) is None
    assert daemon.status().state is State.STOPPED
    assert not daemon.stop()
    daemon.start(script(tmp_path, LIVES), threading.Event())
    assert toy.configured[0] == toy.configured[1]


def test_death_at_start_shows_the_log(folder: Path, tmp_path: Path):
    daemon = Daemon(Toy(folder, usable=False), print)
    with pytest.raises(ServicesError, match="its process ended") as failure:
        daemon.start(script(tmp_path, DIES), threading.Event())
    assert "the disk is full" in failure.value.why
    assert str(daemon.log) in failure.value.fix


def test_port_taken_meanwhile_gets_another_attempt(folder: Path, tmp_path: Path):
    toy = Toy(folder)
    said: list[str] = []
    Daemon(toy, said.append).start(script(tmp_path, LOSES_ITS_PORT_ONCE), threading.Event())
    assert len(toy.configured) == 2
    assert "toy: another process took a port, trying other ports" in said


def test_never_usable_is_ended_after_the_timeout(folder: Path, tmp_path: Path):
    daemon = Daemon(Toy(folder, usable=False, settings=HASTY), print)
    with pytest.raises(ServicesError, match="did not become usable in time"):
        daemon.start(script(tmp_path, LIVES), threading.Event())
    assert daemon.status().state is State.STOPPED
    assert process.find(daemon.marker) is None


def test_cancelled_start_is_ended(folder: Path, tmp_path: Path):
    cancel = threading.Event()
    cancel.set()
    daemon = Daemon(Toy(folder), print)
    with pytest.raises(ServicesError, match="the start was interrupted"):
        daemon.start(script(tmp_path, LIVES), cancel)
    assert process.find(daemon.marker) is None


def test_start_of_another_process_is_taken_over(folder: Path, tmp_path: Path):
    daemon = Daemon(Toy(folder), print)
    daemon.start(script(tmp_path, LIVES), threading.Event())
    known = record.load(folder / "process.json")
    record.save(folder / "process.json", replace(known, ready=False))
    assert daemon.status().state is State.STARTING
    daemon.start(script(tmp_path, DIES), threading.Event())
    assert daemon.status().pid == known.pid
    assert daemon.status().state is State.RUNNING


def test_process_without_a_record_is_found_by_its_marker(folder: Path, tmp_path: Path):
    daemon = Daemon(Toy(folder), print)
    daemon.start(script(tmp_path, LIVES), threading.Event())
    (folder / "process.json").unlink()
    assert daemon.status().state is State.STOPPED
    assert daemon.stop()
    assert process.find(daemon.marker) is None


def test_own_pid_in_a_stale_record_is_not_signalled(folder: Path):
    stale = Record(pid=os.getpid(), start_token="long ago", ready=True, ports={"main": 1})
    record.save(folder / "process.json", stale)
    daemon = Daemon(Toy(folder), print)
    assert daemon.status().state is State.STALE
    assert not daemon.stop()


def test_previous_log_is_kept(folder: Path, tmp_path: Path):
    daemon = Daemon(Toy(folder, usable=False), print)
    for words in ("first", "second"):
        with pytest.raises(ServicesError):
            daemon.start(script(tmp_path, f"echo {words}; exit 1"), threading.Event())
    assert daemon.log.read_text() == "second\n"
    assert (daemon.log.parent / "toy.log.1").read_text() == "first\n"


def test_folder_of_someone_else_is_refused(folder: Path):
    daemon = Daemon(Toy(folder), print)
    daemon.refuse_foreign_folder()
    folder.mkdir()
    daemon.refuse_foreign_folder()
    (folder / "thesis.txt").touch()
    with pytest.raises(ServicesError, match="not created by"):
        daemon.refuse_foreign_folder()
    (folder / "process.json.new").touch()
    daemon.refuse_foreign_folder()


def test_a_server_that_aborts_and_hangs_is_reported_immediately(folder: Path, tmp_path: Path):
    said: list[str] = []
    hangs = (
        "echo '1 [main] ERROR a.b.C - ***** ABORTING master: no such class *****'; trap '' TERM; sleep 100"
    )
    daemon = Daemon(Toy(folder), said.append)
    began = time.monotonic()
    with pytest.raises(ServicesError, match="ABORTING master: no such class") as error:
        daemon.start(script(tmp_path, hangs), threading.Event())
    assert time.monotonic() - began < 10
    assert str(daemon.log) in error.value.fix
    assert said[-1].startswith("toy: it aborted")
    assert "no such class" in said[-1]
    assert daemon.status().state is State.STOPPED


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (
            "1 [main] INFO a.B - fine\n2 [main] ERROR a.B - Failed construction\njava.lang.X",
            "Failed construction",
        ),
        (
            '2 [main] ERROR a.B - Failed construction\njava.lang.NumberFormatException: For input string: "x"\n\tat y',
            'Failed construction: For input string: "x"',
        ),
        (
            "2 [m] ERROR a.B - ***** ABORTING master h,1: no such class *****\na.b.CException: no such class",
            "ABORTING master h,1: no such class",
        ),
        ('Exception in thread "main" java.lang.Error: x', 'Exception in thread "main" java.lang.Error: x'),
        ("Error: Could not find or load main class X", "Error: Could not find or load main class X"),
        ("1 [main] WARN a.B - an ERROR was seen\n", None),
        ("", None),
    ],
)
def test_the_first_error_of_a_log_is_found(log: str, error: str | None):
    assert first_error(log) == error


def test_last_lines_keep_causes_and_drop_frames():
    log = "start\nERROR no\n\tat a.b.C(D.java:1)\nCaused by: disk\n\t... 3 more\n\n" + "x" * 400
    assert last_lines(log, 3) == ["ERROR no", "Caused by: disk", "x" * 300]
