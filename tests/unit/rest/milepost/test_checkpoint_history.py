"""Checkpoints by everybody's name, each attempt, page by page."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.rest.asgi import JOB, Server, ack, completed, failed, pending

from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import LocalStore

PATH = f"/milepost/jobs/{JOB}"


def test_one_that_failed_and_was_tried_again_is_told_with_both_attempts(server: Server):
    history = History(LocalStore(server.folder))
    done = completed(3, ack("writer/0", details={"flushes": 2}))
    history.append(failed(3, ack("writer/0")))
    history.append(done)
    CheckpointFiles(LocalStore(server.folder)).complete(done)
    again, first = server.get(f"{PATH}/checkpoints/3").json["attempts"]
    assert (again["status"], first["status"]) == ("COMPLETED", "FAILED")
    assert again["acknowledged"][0]["details"] == {"flushes": 2}
    assert first["failed-by"][0]["participant"] == "audit"


def test_the_one_in_flight_comes_first(server: Server):
    coordinator = server.job.checkpoints
    coordinator._in_flight = replace(coordinator._in_flight, running=pending(3, {"audit"}))
    (running,) = server.get(f"{PATH}/checkpoints/3").json["attempts"]
    assert (running["status"], running["missing"]) == ("IN_PROGRESS", ["audit"])
    assert server.get(f"{PATH}/checkpoints/pending").json["pending"]["missing"] == ["audit"]
    (audit,) = server.get(f"{PATH}/participants").json["participants"]
    assert (audit["participant"], audit["is-pending"]) == ("audit", True)


def test_one_that_never_was_is_not_found(server: Server):
    answer = server.get(f"{PATH}/checkpoints/4")
    assert (answer.status, answer.json["errors"]) == (404, ["Could not find checkpoint 4."])


def test_the_history_goes_further_back_than_the_statistics(server: Server):
    history = History(LocalStore(server.folder))
    for number in range(20):
        history.append(completed(number))
    assert len(server.get(f"{PATH}/checkpoints/history").json["checkpoints"]) == 20
    assert len(server.get(f"{PATH}/checkpoints/history?limit=3").json["checkpoints"]) == 3
    assert server.get(f"{PATH}/checkpoints/history?limit=0").status == 400
    assert server.get(f"{PATH}/checkpoints/history?before=1").json["checkpoints"] == []


def test_our_own_paths_have_no_version(server: Server):
    for path in ("participants", "checkpoints/pending", "checkpoints/history"):
        assert server.get(f"{PATH}/{path}").status == 200
        assert server.get(f"/v1{PATH}/{path}").status == 404
        assert server.get(f"/milepost/jobs/{'e' * 32}/{path}").status == 404
