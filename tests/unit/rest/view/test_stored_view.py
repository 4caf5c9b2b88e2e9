"""A job of which only its directory is left answers as a running one does, and says honestly how it ended."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB, START, ack, completed, later

from milepost.checkpoint.lease.epoch import Owner, begin_epoch
from milepost.checkpoint.store.history import ExceptionEntry, History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Rest, parse_config
from milepost.errors import NotReachableError
from milepost.job.status import JobStatus
from milepost.rest.server.refusal import Refusal
from milepost.rest.server.server import Listener, serve_stored_view
from milepost.rest.view.stored_view import (
    NO_CHANGES,
    DriverState,
    StoredJob,
    describe_job,
    effective_status,
    find_driver_state,
    open_stored_view,
)

NOBODY = 2**22 + 7
"""A process id that Linux does not give out."""
HERE = socket.gethostname()


def owned(pid: int, host: str = HERE) -> Owner:
    return Owner(job_id=JOB, pid=pid, host=host, since=START)


@dataclass
class Left:
    """A directory as a driver has left it."""

    folder: Path

    def __post_init__(self) -> None:
        self.store = LocalStore(self.folder)
        self.history = History(self.store)

    def ran(self, status: str = "RUNNING", pid: int = NOBODY) -> Left:
        begin_epoch(self.store, 1, owned(pid))
        self.history.append(JobEvent(at=START, job_id=JOB, status="RUNNING"))
        checkpoint = completed(5, ack("writer/0", rows=30), ack("writer/1", rows=12))
        self.history.append(replace(checkpoint, sources=({"orders": {0: 42}},)))
        if status != "RUNNING":
            self.history.append(JobEvent(at=later(9), job_id=JOB, status=status, detail="no table"))
        return self


@pytest.fixture
def left(tmp_path: Path) -> Left:
    (tmp_path / "dir").mkdir()
    return Left(tmp_path / "dir")


@pytest.mark.parametrize("last", list(JobStatus))
@pytest.mark.parametrize("driver", list(DriverState))
def test_a_state_that_was_told_last_counts_unless_its_driver_is_gone(last: JobStatus, driver: DriverState):
    state = effective_status(last, driver)
    assert state is (JobStatus.SUSPENDED if driver is DriverState.GONE and not last.is_terminal else last)


def test_a_driver_is_known_on_its_own_host_only():
    assert find_driver_state(None, "a", lambda _: True) is DriverState.UNKNOWN
    assert find_driver_state(owned(1, "b"), "a", lambda _: True) is DriverState.UNKNOWN
    assert find_driver_state(owned(1, "a"), "a", lambda _: True) is DriverState.ALIVE
    assert find_driver_state(owned(1, "a"), "a", lambda _: False) is DriverState.GONE


def test_a_killed_job_is_suspended_and_says_what_is_known(left: Left):
    job = StoredJob(left.ran().store)
    assert (job.job_id, job.status, job.restarts) == (JOB, JobStatus.SUSPENDED, 0)
    assert job.moved_at == {JobStatus.RUNNING: START, JobStatus.SUSPENDED: later(2)}
    progress = job.latest_progress
    assert (progress.rows, progress.checkpoint_id, progress.position) == (
        42,
        5,
        {"orders": {0: 42}},
    )
    assert job.checkpoints.stats.completed == 1
    lost_driver = job.lost_driver
    assert lost_driver is not None
    assert "The driver ended without reporting a status" in lost_driver.what
    assert f"process {NOBODY} on {HERE}" in lost_driver.why
    assert lost_driver.fix == "Run it again: it resumes from checkpoint 5"
    assert "last reported RUNNING" in describe_job(job)


def test_a_job_that_told_its_end_is_believed(left: Left):
    job = StoredJob(left.ran("FAILED").store)
    assert (job.status, job.lost_driver) == (JobStatus.FAILED, None)
    assert describe_job(job) == "History of a job that has ended: FAILED."


def test_a_job_that_runs_is_followed(left: Left):
    now = [0.0]
    job = StoredJob(left.ran(pid=os.getpid()).store, lambda: now[0])
    assert (job.status, job.lost_driver) == (JobStatus.RUNNING, None)
    assert "Its own address shows its current state" in describe_job(job)
    left.history.append(JobEvent(at=later(20), job_id="f" * 32, status="RUNNING"))
    left.history.append(JobEvent(at=later(21), job_id="f" * 32, status="RESTARTING"))
    assert job.job_id == JOB
    now[0] = 2.0
    assert (job.job_id, job.restarts, job.latest_progress.rows) == ("f" * 32, 1, 0)


def test_nothing_can_be_asked_of_it(left: Left):
    job = StoredJob(left.ran().store)
    for ask in (job.trigger_checkpoint, job.trigger_savepoint, job.stop_with_savepoint, job.cancel):
        with pytest.raises(Refusal, match="it is read-only"):
            ask()


def test_a_directory_without_a_history_is_refused(left: Left):
    with pytest.raises(NotReachableError, match="does not contain the history of a job"):
        StoredJob(left.store)


@pytest.fixture
def served(left: Left) -> Iterator[str]:
    """The server around a killed job whose last attempt but one failed."""
    left.ran()
    left.history.append(
        ExceptionEntry(at=later(1), job_id=JOB, attempt=1, what="The table is gone", status="RESTARTING")
    )
    config = parse_config(changed({"checkpointing/dir": str(left.folder)}))
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_stored_view(listener, open_stored_view(left.store, config)) as at,
    ):
        yield at.url + "?" + at.token


def asked(served: str, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    url, _, token = served.partition("?")
    request = Request(f"{url}{path}", method=method, headers={"Authorization": f"Bearer {token}"})
    try:
        with urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def test_its_cookie_is_not_that_of_the_job_itself(served: str):
    url, _, token = served.partition("?")
    host, _, port = url.removeprefix("http://").partition(":")
    with closing(HTTPConnection(host, int(port), timeout=10)) as connection:
        connection.request("GET", f"/?token={token}")
        given = connection.getresponse().headers["set-cookie"]
    assert given.startswith(f"milepost-history-{port}=")


def test_the_routes_answer_and_every_change_is_refused(served: str, left: Left):
    before = sorted(path.relative_to(left.folder) for path in left.folder.rglob("*"))
    assert asked(served, "/jobs") == (200, {"jobs": [{"id": JOB, "status": "SUSPENDED"}]})
    for path in (
        f"/jobs/{JOB}", "/jobs/overview", "/overview", f"/jobs/{JOB}/checkpoints", f"/jobs/{JOB}/config",
        f"/milepost/jobs/{JOB}/series", f"/milepost/jobs/{JOB}/graph", f"/milepost/jobs/{JOB}/progress",
        f"/milepost/jobs/{JOB}/checkpoints/pending", f"/milepost/jobs/{JOB}/savepoints", "/v1/jobs",
    ):  # fmt: skip
        assert asked(served, path)[0] == 200, path
    _, exceptions = asked(served, f"/jobs/{JOB}/exceptions")
    entries = exceptions["exceptionHistory"]["entries"]
    assert [each["exceptionName"] for each in entries] == [
        "The driver ended without reporting a status",
        "The table is gone",
    ]
    (state,) = asked(served, f"/milepost/jobs/{JOB}/timeline")[1]["states"]
    assert (state["state"], state["lost"]) == ("RUNNING", True)
    _, abilities = asked(served, "/milepost/abilities")
    assert [abilities[action] for action in ("checkpoint", "savepoint", "stop", "cancel")] == [False] * 4
    assert "The driver ended without reporting a status" in abilities["note"]
    assert set(abilities["reason"].values()) == {NO_CHANGES}
    for method, path in (
        ("PATCH", f"/jobs/{JOB}?mode=cancel"),
        ("POST", f"/jobs/{JOB}/checkpoints"),
        ("POST", f"/jobs/{JOB}/stop"),
        ("POST", "/savepoint-disposal"),
    ):
        assert asked(served, path, method) == (403, {"errors": [NO_CHANGES]})
    assert sorted(path.relative_to(left.folder) for path in left.folder.rglob("*")) == before
