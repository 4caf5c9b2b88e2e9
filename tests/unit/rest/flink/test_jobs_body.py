"""The JSON of jobs: Flink's fields and states."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, START, Server, ack, completed, later

from milepost.job.status import JobStatus
from milepost.rest.flink.jobs_body import (
    STATES,
    configuration,
    details,
    ids,
    overview,
)
from milepost.rest.flink.tasks_body import TASK_STATES
from milepost.rest.flink.vertices_body import milliseconds

T0 = milliseconds(START)


def test_ids(server: Server):
    assert ids(server.job) == {"jobs": [{"id": JOB, "status": "RUNNING"}]}


def test_the_overview_has_exactly_flinks_fields(server: Server):
    server.job.checkpoints.stats.add(completed(1, ack("writer/0"), ack("writer/1")))
    (job,) = overview(server.served, later(5))["jobs"]
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
    shown = details(server.served, later(5))
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
    (job,) = overview(server.served, later(60))["jobs"]
    assert (job["end-time"], job["duration"], job["state"]) == (T0 + 2000, 2000, "CANCELED")


def test_a_state_that_has_just_changed_is_no_error(server: Server):
    server.job.status = JobStatus.FINISHED
    assert overview(server.served, later(60))["jobs"][0]["end-time"] == T0 + 60_000


def test_the_configuration_shows_no_secret(server: Server):
    shown = configuration(JOB, server.config)["execution-config"]
    assert shown["restart-strategy"] == "exponential-delay"
    assert shown["user-config"]["sink.hbase.table"] == "orders"
    assert shown["user-config"]["source.kafka.topics"] == "orders"
