"""Take a savepoint, stop with one, dispose of one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.unit.rest.asgi import JOB, Server, taken

from milepost.errors import SavepointError
from milepost.job import registry

PATH = f"/jobs/{JOB}/savepoints"


def test_a_savepoint_is_taken_and_fetched(server: Server):
    triggered = server.post(PATH, {"cancel-job": False, "formatType": "CANONICAL"})
    assert (triggered.status, server.job.asked) == (202, [("savepoint", None)])
    request = triggered.json["request-id"]
    assert server.get(f"{PATH}/{request}").json["status"]["id"] == "IN_PROGRESS"
    server.job.savepoint.set_result(taken("file:/s/savepoint-012345-aaaaaaaaaaaa"))
    assert server.get(f"{PATH}/{request}").json["operation"] == {
        "location": "file:/s/savepoint-012345-aaaaaaaaaaaa"
    }


def test_a_stop_is_fetched_where_savepoints_are(server: Server):
    triggered = server.post(f"/jobs/{JOB}/stop", {"drain": True})
    assert (triggered.status, server.job.asked) == (202, [("stop", None, True)])
    server.job.savepoint.set_result(taken("/s/1"))
    assert server.get(f"{PATH}/{triggered.json['request-id']}").json["operation"] == {"location": "/s/1"}


def test_cancel_with_savepoint_is_a_stop(server: Server):
    assert server.post(PATH, {"cancel-job": True}).status == 202
    assert server.job.asked == [("stop", None, False)]


def test_a_failure_is_told(server: Server):
    request = server.post(PATH).json["request-id"]
    server.job.savepoint.set_exception(SavepointError("The disk is full"))
    assert "disk is full" in server.get(f"{PATH}/{request}").json["operation"]["failure-cause"]["stack-trace"]


def test_a_directory_inside_the_root_is_taken(server: Server):
    wanted = f"{server.savepoint_dir}/team"
    assert server.post(PATH, {"target-directory": wanted}).status == 202
    assert server.job.asked == [("savepoint", wanted)]


@pytest.mark.parametrize("wanted", ["/etc", "http://evil.example/x", "../x", "file:///etc"])
def test_a_directory_elsewhere_is_refused(wanted: str, server: Server):
    assert server.post(PATH, {"target-directory": wanted}).status == 400
    assert server.post(f"/jobs/{JOB}/stop", {"targetDirectory": wanted}).status == 400
    assert server.post("/savepoint-disposal", {"savepoint-path": wanted}).status == 400
    assert server.job.asked == []


def test_each_request_has_its_own_casing(server: Server):
    assert server.post(PATH, {"targetDirectory": server.savepoint_dir}).status == 400
    assert server.post(f"/jobs/{JOB}/stop", {"target-directory": server.savepoint_dir}).status == 400


def test_without_a_root_flinks_sentence(tmp_path: Path):
    server = Server(tmp_path)
    assert server.post(PATH).json == {
        "errors": [
            "Config key [execution.checkpointing.savepoint-dir] is not set. "
            "Property [target-directory] must be provided."
        ]
    }


def test_without_a_root_a_token_alone_names_no_directory(tmp_path: Path):
    server = Server(tmp_path)
    for path, field in ((PATH, "target-directory"), (f"/jobs/{JOB}/stop", "targetDirectory")):
        answer = server.post(path, {field: str(tmp_path / "s")})
        assert (answer.status, server.job.asked) == (400, [])
        assert "Set checkpointing.savepoint-dir" in answer.text


def test_without_a_root_the_user_of_the_job_may_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server, wanted = Server(tmp_path / "job"), str(tmp_path / "s")
    with registry.grant_directory(JOB, wanted):
        assert server.post(PATH, {"target-directory": wanted}).status == 202
        assert server.post(f"/jobs/{JOB}/stop", {"targetDirectory": wanted}).status == 202
        assert server.post(PATH, {"target-directory": f"{wanted}/.."}).status == 400
        assert server.post("/savepoint-disposal", {"savepoint-path": wanted}).status == 400
    assert server.post(PATH, {"target-directory": wanted}).status == 400
    assert server.job.asked == [("savepoint", wanted), ("stop", wanted, False)]


def test_what_is_no_savepoint_is_not_disposed_of(server: Server):
    victim = Path(str(server.savepoint_dir)) / "data"
    victim.mkdir()
    (victim / "file").write_text("x")
    request = server.post("/savepoint-disposal", {"savepoint-path": str(victim)}).json["request-id"]
    answer = server.get(f"/savepoint-disposal/{request}")
    assert "There is no savepoint" in answer.json["operation"]["failure-cause"]["stack-trace"]
    assert (victim / "file").exists()
    assert server.get(f"/savepoint-disposal/{'d' * 32}").status == 404
