"""The driver as Flink's workers."""

from __future__ import annotations

from tests.unit.config.conftest import changed

from milepost.config import parse_config
from milepost.rest.flink import task_managers_body


def test_settings_are_keys_as_people_write_them_and_no_secret():
    config = parse_config(changed({"source/kafka/properties": {"ssl.key.password": "hunter2"}}))
    shown = {each["key"]: each["value"] for each in task_managers_body.configuration(config)}
    assert shown["name"] == config.name
    assert "source.kafka.bootstrap-servers" in shown
    assert "hunter2" not in str(shown)


def test_the_environment_has_versions_and_no_paths():
    shown = task_managers_body.environment()
    assert shown["jvm"]["version"].startswith("Python 3")
    assert (shown["jvm"]["options"], shown["classpath"]) == ([], [])


def test_what_is_not_known_is_told_as_such():
    shown = task_managers_body.taskmanager(2, 17)
    assert (shown["slotsNumber"], shown["timeSinceLastHeartbeat"]) == (2, 17)
    assert set(shown["memoryConfiguration"].values()) == {None}
