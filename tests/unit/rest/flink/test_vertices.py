"""The vertices of a job, in Flink's fields."""

from __future__ import annotations

import pytest
from tests.unit.rest.asgi import JOB, START, Server, ack, completed

from milepost.rest.flink import vertices
from milepost.rest.flink.job_vertex import Vertex, vertex_id

WRITERS = f"/jobs/{JOB}/vertices/{vertex_id('Sink: Writer')}"

SOURCE = Vertex("Source: orders", {0: None})


@pytest.fixture
def shown(server: Server) -> Server:
    server.job.checkpoints.stats.add(completed(7, ack("writer/0", rows=3), ack("writer/1", rows=4)))
    return server


def test_a_vertex_has_its_tasks(shown: Server):
    found = shown.get(WRITERS).json
    assert list(found) == ["id", "name", "parallelism", "maxParallelism", "now", "subtasks", "aggregated"]
    assert (found["name"], found["parallelism"]) == ("Sink: Writer", 2)
    first = found["subtasks"][0]
    assert (first["subtask"], first["status"], first["attempt"]) == (0, "RUNNING", 2)
    assert first["start_time"] == first["start-time"]
    assert first["metrics"]["write-records"] == 3
    assert found["aggregated"]["metrics"]["write-records"]["sum"] == 7


def test_times_and_places(shown: Server):
    times = shown.get(f"{WRITERS}/subtasktimes").json
    assert [each["subtask"] for each in times["subtasks"]] == [0, 1]
    assert times["subtasks"][0]["timestamps"]["RUNNING"] > 0
    (driver,) = shown.get(f"{WRITERS}/taskmanagers").json["taskmanagers"]
    assert (driver["taskmanager-id"], driver["status-counts"]["RUNNING"]) == ("driver", 2)


def test_what_spark_does_not_have_is_empty_and_not_an_error(shown: Server):
    assert shown.get(f"{WRITERS}/accumulators").json["user-accumulators"] == []
    assert len(shown.get(f"{WRITERS}/subtasks/accumulators").json["subtasks"]) == 2
    assert shown.get(f"{WRITERS}/backpressure").json == {"status": "deprecated"}
    assert shown.get(f"{WRITERS}/watermarks").json == []


def test_a_vertex_that_is_not_there(shown: Server):
    for path in ("", "/subtasktimes", "/taskmanagers", "/backpressure", "/watermarks"):
        answer = shown.get(f"/jobs/{JOB}/vertices/{'c' * 32}{path}")
        assert (answer.status, answer.json["errors"]) == (404, [f"JobVertex {'c' * 32} not found"])


def test_of_a_source_no_rows_are_known(server: Server):
    found = vertices.details_body(server.view, SOURCE, START)
    assert found["subtasks"][0]["metrics"]["read-records"] == 0
    assert set(found["subtasks"][0]) == {
        "subtask",
        "status",
        "attempt",
        "host",
        "endpoint",
        "start-time",
        "start_time",
        "end-time",
        "duration",
        "metrics",
        "taskmanager-id",
        "status-duration",
    }


def test_an_ended_job_has_ended_tasks(server: Server):
    server.job.status = server.job.status.__class__.FINISHED
    (one,) = vertices.taskmanagers_body(server.view, SOURCE, START)["taskmanagers"]
    assert (one["status"], one["status-counts"]["FINISHED"]) == ("FINISHED", 1)
