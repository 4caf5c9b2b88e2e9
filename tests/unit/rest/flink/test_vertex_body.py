"""One vertex in Flink's fields, also when nobody has acknowledged yet."""

from __future__ import annotations

from tests.unit.rest.asgi import START, Server

from milepost.rest.flink import vertex_body
from milepost.rest.flink.vertices_body import Vertex

SOURCE = Vertex("Source: orders", {0: None})


def test_of_a_source_no_rows_are_known(server: Server):
    found = vertex_body.details(server.served, SOURCE, START)
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
    (one,) = vertex_body.taskmanagers(server.served, SOURCE, START)["taskmanagers"]
    assert (one["status"], one["status-counts"]["FINISHED"]) == ("FINISHED", 1)
