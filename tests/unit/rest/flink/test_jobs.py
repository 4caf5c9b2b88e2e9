"""The job's own routes: cancel, and what is asked of it."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import JOB, Server

from milepost.errors import JobFailedError
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


def test_plan_accumulators_and_requirements(server: Server):
    path = f"/jobs/{JOB}"
    assert server.get(f"{path}/plan").json["plan"] == server.get(path).json["plan"]
    assert server.get(f"{path}/accumulators").json == {"job-accumulators": [], "user-task-accumulators": []}
    wide = server.get(f"{path}/accumulators?includeSerializedValue=true").json
    assert wide["serialized-user-task-accumulators"] == {}
    (source,) = server.get(f"{path}/resource-requirements").json.values()
    assert source == {"parallelism": {"lowerBound": 1, "upperBound": 1}}


def test_the_result_of_a_job_is_told_once_it_has_ended(server: Server):
    path = f"/jobs/{JOB}/execution-result"
    assert server.get(path).json == {"status": {"id": "IN_PROGRESS"}, "job-execution-result": None}
    server.job.status = JobStatus.FAILED
    server.job.error = JobFailedError("The table is gone")
    ended = server.get(path).json
    assert ended["status"] == {"id": "COMPLETED"}
    assert ended["job-execution-result"]["application-status"] == "FAILED"
    assert ended["job-execution-result"]["failure-cause"]["stack-trace"] == "The table is gone."


@pytest.mark.parametrize(
    "path",
    ["/jobs", "/jobs/overview", f"/jobs/{JOB}", f"/jobs/{JOB}/status", f"/jobs/{JOB}/execution-result"],
)
def test_whoever_cancels_is_told_the_end_before_the_server_goes(path: str, server: Server):
    server.ask("PATCH", f"/jobs/{JOB}?mode=cancel")
    server.get(path)
    assert server.operations.is_end_awaited  # it still runs, so the end was not told
    server.job.status = JobStatus.CANCELED
    server.get(f"/jobs/{JOB}/config")
    assert server.operations.is_end_awaited
    server.get(path)
    assert not server.operations.is_end_awaited
