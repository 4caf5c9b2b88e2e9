"""The job's own routes: cancel, and what is asked of it."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import JOB, Server

from milepost.job.status import JobStatus


def test_cancel(server: Server):
    answer = server.ask("PATCH", f"/jobs/{JOB}?mode=cancel")
    assert (answer.status, answer.json, server.job.asked) == (202, {}, ["cancel"])
    assert server.ask("PATCH", f"/v1/jobs/{JOB}").status == 202


@pytest.mark.parametrize(("mode", "status"), [("stop", 308), ("kill", 400), ("x" * 100, 400)])
def test_another_mode_is_refused(mode: str, status: int, server: Server):
    assert server.ask("PATCH", f"/jobs/{JOB}?mode={mode}").status == status
    assert server.job.asked == []


def test_what_has_ended_is_not_cancelled(server: Server):
    server.job.status = JobStatus.FINISHED
    assert server.ask("PATCH", f"/jobs/{JOB}").status == 409
    server.job.status = JobStatus.CANCELED
    assert server.ask("PATCH", f"/jobs/{JOB}").status == 202


def test_status_and_exceptions(server: Server):
    assert server.get(f"/jobs/{JOB}/status").json == {"status": "RUNNING"}
    assert server.get(f"/jobs/{JOB}/exceptions?maxExceptions=1").json["root-exception"] is None
    assert server.get(f"/jobs/{JOB}/exceptions?maxExceptions=-1").status == 400
    assert server.get(f"/jobs/{JOB}/exceptions?maxExceptions=many").status == 400
