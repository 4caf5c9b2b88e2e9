"""What lies under /milepost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.rest.asgi import JOB, READ_TOKEN, Server, ack, completed

from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.milepost import extensions
from milepost.rest.milepost.extensions import ACTIONS

OWN = f"/milepost/jobs/{JOB}"


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
    assert said["reason"]["cancel"] == "This token is read-only."


def test_our_own_paths_have_no_version(server: Server):
    for path in ("progress", "plan"):
        assert server.get(f"/milepost/jobs/{JOB}/{path}").status == 200
        assert server.get(f"/v1/milepost/jobs/{JOB}/{path}").status == 404
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404


def test_before_the_first_look_only_the_state_is_known(server: Server):
    shown = extensions.progress_body(server.view)
    assert (shown["state"], shown["rows"], shown["checkpoint-id"]) == ("RUNNING", 0, None)


def test_offsets_are_the_next_to_read(server: Server):
    server.job.latest_progress = Progress(
        checkpoint_id=4,
        running_batch=None,
        tasks=2,
        acknowledged=2,
        finished=False,
        position={"t": {0: 9}},
    )
    shown = extensions.progress_body(server.view)
    assert (shown["tasks"], shown["offsets"]) == (2, {"t": {"0": 9}})


def test_counts_and_the_newest_checkpoint_are_of_one_moment(server: Server):
    stats = server.job.checkpoints.stats
    stats.remember(completed(3))
    stats.restore(completed(3))
    shown = extensions.progress_body(server.view)
    assert (shown["checkpoint-id"], shown["checkpoints"]["restored-from"], shown["rows"]) == (3, 3, 0)
    stats.add(replace(completed(4, ack("writer/0", rows=9)), late_total={"orders": 500, "others": 1}))
    shown = extensions.progress_body(server.view)
    assert (shown["checkpoint-id"], shown["rows"], shown["late"]) == (4, 9, {"source": 500})
    assert shown["checkpoints"] == {
        "completed": 2,
        "failed": 0,
        "in-progress": 0,
        "completed-in-this-run": 1,
        "failed-in-this-run": 0,
        "restored-from": 3,
    }


@pytest.mark.parametrize(
    ("status", "savepoint_dir", "possible"),
    [
        (JobStatus.RUNNING, "/savepoints", {"checkpoint", "savepoint", "stop", "cancel"}),
        (JobStatus.RUNNING, None, {"checkpoint", "cancel"}),
        (JobStatus.RESTARTING, "/savepoints", {"cancel"}),
        (JobStatus.CREATED, "/savepoints", {"cancel"}),
        (JobStatus.CANCELLING, "/savepoints", set()),
        (JobStatus.FAILED, "/savepoints", set()),
    ],
)
def test_what_can_be_asked_of_a_job(status: JobStatus, savepoint_dir: str | None, possible: set[str]):
    said = extensions.abilities_body(status, savepoint_dir, may_change=True)
    assert {action for action in extensions.ACTIONS if said[action]} == possible
    assert said["reason"].keys() == set(extensions.ACTIONS) - possible
    assert all(sentence.endswith(".") for sentence in said["reason"].values())


def test_a_job_that_has_just_begun_has_empty_answers(server: Server):
    assert server.get(f"{OWN}/series").json["samples"] == []
    assert server.get(f"{OWN}/timeline").json["states"] == []
    assert len(server.get(f"{OWN}/graph").json["nodes"]) == 4
    assert server.get(f"{OWN}/savepoints").json["savepoints"] == []
    for path in ("series", "timeline", "graph", "offsets", "savepoints"):
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404
