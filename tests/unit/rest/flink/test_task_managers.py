"""The driver as job manager and task manager."""

from __future__ import annotations

from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB, Server, ack, completed

from milepost.config import parse_config
from milepost.rest.flink import task_managers


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


def test_settings_are_keys_as_people_write_them_and_no_secret():
    config = parse_config(changed({"source/kafka/properties": {"ssl.key.password": "hunter2"}}))
    shown = {each["key"]: each["value"] for each in task_managers.config_body(config)}
    assert shown["name"] == config.name
    assert "source.kafka.bootstrap-servers" in shown
    assert "hunter2" not in str(shown)


def test_the_environment_has_versions_and_no_paths():
    shown = task_managers.environment_body()
    assert shown["jvm"]["version"].startswith("Python 3")
    assert (shown["jvm"]["options"], shown["classpath"]) == ([], [])


def test_what_is_not_known_is_told_as_such():
    shown = task_managers.taskmanager_body(2, 17)
    assert (shown["slotsNumber"], shown["timeSinceLastHeartbeat"]) == (2, 17)
    assert set(shown["memoryConfiguration"].values()) == {None}
