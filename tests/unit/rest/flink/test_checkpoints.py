"""Trigger a checkpoint and ask what became of it; look at one."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.rest.asgi import JOB, Server, ack, completed, failed

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Checkpointing
from milepost.errors import CheckpointError
from milepost.rest.flink.checkpoints import config_body
from milepost.rest.flink.job_vertex import vertex_id

PATH = f"/jobs/{JOB}/checkpoints"


def test_a_checkpoint_is_triggered_and_fetched(server: Server):
    triggered = server.post(PATH, {"checkpointType": "CONFIGURED"})
    assert triggered.status == 202
    request = triggered.json["request-id"]
    assert server.get(f"{PATH}/{request}").json == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    server.job.checkpoint.set_result(completed(26))
    assert server.get(f"/v1{PATH}/{request}").json == {
        "status": {"id": "COMPLETED"},
        "operation": {"checkpointId": 26},
    }


def test_an_empty_body_is_an_empty_object(server: Server):
    assert server.post(PATH).status == 202
    assert server.post(PATH, {}).status == 202


def test_the_clients_own_id_makes_it_idempotent(server: Server):
    chosen = "a" * 32
    assert server.post(PATH, {"triggerId": chosen}).json == {"request-id": chosen}
    assert server.post(PATH, {"triggerId": chosen}).json == {"request-id": chosen}
    assert server.job.asked == ["checkpoint"]


def test_a_failure_is_told_with_its_reason(server: Server):
    request = server.post(PATH).json["request-id"]
    server.job.checkpoint.set_exception(CheckpointError("Checkpoint 3 failed", why="a participant declined"))
    cause = server.get(f"{PATH}/{request}").json["operation"]["failureCause"]
    assert "A participant declined" in cause["stack-trace"]


def test_an_unknown_trigger_is_not_found(server: Server):
    answer = server.get(f"{PATH}/{'b' * 32}")
    assert answer.status == 404
    assert answer.json["errors"] == [
        f"There is no checkpoint operation with triggerId={'b' * 32} for job {JOB}."
    ]


def test_details_and_subtasks(server: Server):
    server.job.checkpoints.stats.add(completed(7, ack("writer/0")))
    tasks = server.get(f"{PATH}/details/7").json["tasks"]
    assert tasks.keys() == {vertex_id("Source: source"), vertex_id("Sink: Writer")}
    job = server.get(f"/jobs/{JOB}").json
    assert tasks.keys() == {vertex["id"] for vertex in job["vertices"]}  # as Flink's dashboard relies on
    found = server.get(f"{PATH}/details/7/subtasks/{vertex_id('Sink: Writer')}")
    assert [each["status"] for each in found.json["subtasks"]] == ["completed"]
    assert server.get(f"{PATH}/details/7/subtasks/{'c' * 32}").status == 404


def test_an_older_one_is_read_from_its_manifest(server: Server):
    CheckpointFiles(LocalStore(server.folder)).complete(completed(3, ack("writer/0")))
    assert server.get(f"{PATH}/details/3").json["id"] == 3
    missing = server.get(f"{PATH}/details/4")
    assert (missing.status, missing.json["errors"]) == (
        404,
        ["Could not find checkpointing statistics for checkpoint 4."],
    )


def test_of_a_failed_one_the_tasks_are_told_too(server: Server):
    History(LocalStore(server.folder)).append(failed(3, ack("writer/0")))
    found = server.get(f"{PATH}/details/3").json
    assert (found["status"], found["num_acknowledged_subtasks"]) == ("FAILED", 1)
    assert found["tasks"][vertex_id("audit")]["status"] == "FAILED"
    writers = server.get(f"{PATH}/details/3/subtasks/{vertex_id('Sink: Writer')}").json
    assert [each["status"] for each in writers["subtasks"]] == ["completed", "pending_or_failed"]


def test_the_configuration_in_flinks_words():
    settings = Checkpointing(
        dir="/data", interval="10s", mode="at-least-once", on_cancel="delete", tolerable_failures=3
    )
    shown = config_body(settings)
    assert (shown["mode"], shown["interval"], shown["timeout"]) == ("at_least_once", 10_000, 600_000)
    assert shown["externalization"] == {"enabled": True, "delete_on_cancellation": True}
    assert shown["tolerable_failed_checkpoints"] == 3
    assert len(shown) == 15
    assert settings.interval == timedelta(seconds=10)
