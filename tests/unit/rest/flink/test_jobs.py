"""The job's own routes: cancel, and what is asked of it."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import JOB, START, Server, ack, completed, later

from milepost.errors import JobFailedError
from milepost.job.status import JobStatus
from milepost.rest.flink.jobs import STATES, config_body, details_body, ids_body, overview_body
from milepost.rest.flink.task_info import TASK_STATES
from milepost.rest.timestamps import milliseconds

T0 = milliseconds(START)


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


def test_ids(server: Server):
    assert ids_body(server.job) == {"jobs": [{"id": JOB, "status": "RUNNING"}]}


def test_the_overview_has_exactly_flinks_fields(server: Server):
    server.job.checkpoints.stats.add(completed(1, ack("writer/0"), ack("writer/1")))
    (job,) = overview_body(server.view, later(5))["jobs"]
    assert job == {
        "jid": JOB,
        "name": "orders",
        "start-time": T0,
        "end-time": -1,
        "duration": 5000,
        "state": "RUNNING",
        "last-modification": T0,
        "tasks": {"total": 3} | {state.lower(): 3 if state == "RUNNING" else 0 for state in TASK_STATES},
        "pending-operators": 0,
        "jobType": "STREAMING",
        "schedulerType": "Default",
    }


def test_details_have_every_state_and_a_plan(server: Server):
    server.job.checkpoints.stats.add(completed(1, ack("writer/0")))
    shown = details_body(server.view, later(5))
    assert list(shown["timestamps"]) == list(STATES)
    assert (shown["timestamps"]["RUNNING"], shown["timestamps"]["FAILED"]) == (T0, 0)
    assert [vertex["name"] for vertex in shown["vertices"]] == ["Source: source", "Sink: Writer"]
    assert shown["status-counts"]["RUNNING"] == 2
    source, sink = shown["plan"]["nodes"]
    assert "inputs" not in source
    assert sink["inputs"][0]["id"] == source["id"]


def test_an_ended_job_has_an_end(server: Server):
    server.job.moved_at |= {JobStatus.CANCELLING: later(1), JobStatus.CANCELED: later(2)}
    server.job.status = JobStatus.CANCELED
    (job,) = overview_body(server.view, later(60))["jobs"]
    assert (job["end-time"], job["duration"], job["state"]) == (T0 + 2000, 2000, "CANCELED")


def test_a_state_that_has_just_changed_is_no_error(server: Server):
    server.job.status = JobStatus.FINISHED
    assert overview_body(server.view, later(60))["jobs"][0]["end-time"] == T0 + 60_000


def test_the_configuration_shows_no_secret(server: Server):
    shown = config_body(JOB, server.config)["execution-config"]
    assert shown["restart-strategy"] == "exponential-delay"
    assert shown["user-config"]["sink.hbase.table"] == "orders"
    assert shown["user-config"]["source.kafka.topics"] == "orders"
