"""What lies under /milepost."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, READ_TOKEN, Server

from milepost.job.status import JobStatus
from milepost.rest.milepost.extensions_body import ACTIONS


def test_a_running_job_can_be_asked_for_everything(server: Server):
    said = server.get("/milepost/abilities").json
    assert [said[action] for action in ACTIONS] == [True] * 4
    assert said["reason"] == {}
    assert said["savepoint-dir"] == server.savepoint_dir


def test_an_ended_job_can_be_asked_for_nothing(server: Server):
    server.job.status = JobStatus.FINISHED
    said = server.get("/milepost/abilities").json
    assert [said[action] for action in ACTIONS] == [False] * 4
    assert said["reason"]["stop"] == "The job has ended: FINISHED."


def test_a_token_that_may_only_read_can_ask_for_nothing(server: Server):
    said = server.get("/milepost/abilities", authorization=f"Bearer {READ_TOKEN}").json
    assert [said[action] for action in ACTIONS] == [False] * 4
    assert said["reason"]["cancel"] == "This token may only read."


def test_our_own_paths_have_no_version(server: Server):
    for path in ("progress", "plan"):
        assert server.get(f"/milepost/jobs/{JOB}/{path}").status == 200
        assert server.get(f"/v1/milepost/jobs/{JOB}/{path}").status == 404
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404
