"""What Flink has no word for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.rest.asgi import Server, ack, completed, pending

from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.milepost import extensions_body


def test_before_the_first_look_only_the_state_is_known(server: Server):
    shown = extensions_body.progress(server.served)
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
    shown = extensions_body.progress(server.served)
    assert (shown["tasks"], shown["offsets"]) == (2, {"t": {"0": 9}})


def test_counts_and_the_newest_checkpoint_are_of_one_moment(server: Server):
    stats = server.job.checkpoints.stats
    stats.remember(completed(3))
    stats.restore(completed(3))
    shown = extensions_body.progress(server.served)
    assert (shown["checkpoint-id"], shown["checkpoints"]["restored-from"], shown["rows"]) == (3, 3, 0)
    stats.add(replace(completed(4, ack("writer/0", rows=9)), late_total={"orders": 500, "others": 1}))
    shown = extensions_body.progress(server.served)
    assert (shown["checkpoint-id"], shown["rows"], shown["late"]) == (4, 9, {"source": 500})
    assert shown["checkpoints"] == {
        "completed": 2,
        "failed": 0,
        "in-progress": 0,
        "completed-in-this-run": 1,
        "failed-in-this-run": 0,
        "restored-from": 3,
    }


def test_a_pending_checkpoint_names_who_is_missing():
    assert extensions_body.pending(None) == {"pending": None}
    shown = extensions_body.pending(pending(5, {"writer/0", "audit"}, ack("writer/0")))["pending"]
    assert shown["missing"] == ["audit"]
    assert shown["acknowledged"][0]["participant"] == "writer/0"


def test_how_many_are_expected_is_not_guessed_before_the_batch_has_tasks():
    flight = pending(5, {"writer/0", "audit"}, ack("writer/0"))
    assert extensions_body.pending(flight)["pending"]["expected"] is None
    assert extensions_body.pending(replace(flight, has_tasks=True))["pending"]["expected"] == 2


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
    said = extensions_body.abilities(status, savepoint_dir, may_change=True)
    assert {action for action in extensions_body.ACTIONS if said[action]} == possible
    assert said["reason"].keys() == set(extensions_body.ACTIONS) - possible
    assert all(sentence.endswith(".") for sentence in said["reason"].values())
