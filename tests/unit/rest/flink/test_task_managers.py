"""The driver as job manager and task manager."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, Server, ack, completed


def test_the_driver_is_the_one_task_manager(server: Server):
    server.job.checkpoints.stats.add(completed(7, ack("writer/0"), ack("writer/1")))
    (found,) = server.get("/taskmanagers").json["taskmanagers"]
    assert (found["id"], found["slotsNumber"], found["freeSlots"]) == ("driver", 3, 0)
    assert server.get("/taskmanagers/driver").json["id"] == "driver"
    assert server.get("/taskmanagers/other").status == 404


def test_settings_and_environment_of_the_job_and_of_the_cluster_are_the_same(server: Server):
    settings = server.get("/jobmanager/config").json
    assert {"key": "name", "value": server.config.name} in settings
    assert server.get(f"/jobs/{JOB}/jobmanager/config").json == settings
    assert (
        server.get("/jobmanager/environment").json == server.get(f"/jobs/{JOB}/jobmanager/environment").json
    )
    assert server.get("/jobmanager/logs").json == {"logs": []}
    assert server.get(f"/jobs/{'d' * 32}/jobmanager/config").status == 404
