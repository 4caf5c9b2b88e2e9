"""Checkpoints by everybody's name, each attempt, page by page."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.rest.asgi import JOB, Server, ack, checkpoints_of, completed, failed, later, pending

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.store import LocalStore
from milepost.rest.flink.job_vertex import vertex_id
from milepost.rest.milepost import checkpoint_history
from milepost.rest.timestamps import milliseconds

PATH = f"/milepost/jobs/{JOB}"

DONE = replace(
    completed(7, ack("writer/0", 1, rows=5, bytes=9, details={"flushes": 2}), ack("audit", 1.5, bytes=3)),
    sources=({"orders": {0: 12}},),
    states={"audit": {"n": 1}},
    extra={"note": "secret"},
)


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


def test_a_completed_attempt_has_everybodys_word():
    shown = checkpoint_history.attempt_body(DONE)
    assert (shown["status"], shown["duration-ms"], shown["reason"]) == ("COMPLETED", 2000, None)
    assert shown["acknowledged"][0] == {
        "participant": "writer/0",
        "kind": "writer",
        "at": later(1).isoformat(),
        "after-ms": 1000,
        "duration-ms": 0,
        "rows": 5,
        "bytes": 9,
        "details": {"flushes": 2},
    }
    assert (shown["missing"], shown["failed-by"]) == ([], [])
    assert shown["offsets"] == [{"orders": {"0": 12}}]
    assert shown["extra"] == ["note"]
    assert "secret" not in str(shown)
    assert shown["states"]["audit"] > 0


def test_a_failed_attempt_names_who_and_why_with_the_traceback_apart():
    shown = checkpoint_history.attempt_body(failed(8, ack("writer/0", -4)))
    assert (shown["status"], shown["reason"]) == ("FAILED", "CHECKPOINT_DECLINED")
    assert shown["missing"] == ["audit", "writer/1"]
    assert shown["failed-by"] == [
        {
            "participant": "audit",
            "kind": "participant",
            "sentence": "audit: ValueError: no",
            "traceback": "Traceback …\nValueError: no",
        }
    ]
    assert "Traceback" not in shown["detail"]
    assert [each["participant"] for each in shown["acknowledged"]] == ["writer/0"]


def test_every_attempt_says_how_many_it_expects():
    flight = pending(9, {"writer/0", "audit"}, ack("writer/0"))
    attempts = (DONE, failed(8, ack("writer/0")), flight, replace(flight, has_tasks=True))
    assert [checkpoint_history.attempt_body(each)["expected"] for each in attempts] == [2, 3, None, 2]


def test_an_attempt_in_flight_has_no_end():
    shown = checkpoint_history.attempt_body(pending(9, {"writer/0", "audit"}, ack("writer/0")))
    assert (shown["status"], shown["ended-at"], shown["duration-ms"]) == ("IN_PROGRESS", None, None)
    assert shown["missing"] == ["audit"]


def test_the_history_is_read_page_by_page():
    ended = [
        replace(
            DONE, checkpoint_id=CheckpointId(number), triggered_at=later(number), completed_at=later(number)
        )
        for number in (5, 4, 3)
    ]
    first = checkpoint_history.history_body(ended, None, 2)
    assert [each["id"] for each in first["checkpoints"]] == [5, 4]
    assert first["next-before"] == milliseconds(later(4))
    rest = checkpoint_history.history_body(ended, first["next-before"], 2)
    assert ([each["id"] for each in rest["checkpoints"]], rest["next-before"]) == ([3], None)
    assert checkpoint_history.history_body([], None, 2) == {"checkpoints": [], "next-before": None}


def test_a_line_of_the_history_counts():
    (done, lost) = checkpoint_history.history_body([DONE, failed(8, ack("writer/0"))], None, 9)["checkpoints"]
    assert (done["rows"], done["bytes"], done["state-bytes"]) == (5, 9, 3)
    assert (done["acknowledged"], done["expected"], done["failed-by"]) == (2, 2, [])
    assert (lost["acknowledged"], lost["expected"], lost["failed-by"]) == (1, 3, ["audit"])


def test_participants_have_their_newest_word():
    lost = failed(8, ack("writer/0", 3))
    running = pending(9, {"writer/0", "audit"}, ack("writer/0", 4, rows=1))
    shown = checkpoint_history.participants_body(checkpoints_of(DONE, lost, running=running))["participants"]
    audit, writer, other = shown
    assert (audit["participant"], audit["kind"], audit["state-bytes"]) == ("audit", "participant", 3)
    assert (audit["vertex-id"], audit["subtask"]) == (vertex_id("audit"), 0)
    assert (audit["is-pending"], audit["last-acknowledgement"]["checkpoint-id"]) == (True, 7)
    assert audit["last-failure"]["checkpoint-id"] == 8
    assert audit["last-failure"]["sentence"] == "audit: ValueError: no"
    assert (writer["last-acknowledgement"]["checkpoint-id"], writer["state-bytes"]) == (9, 0)
    assert (other["participant"], other["last-acknowledgement"]) == ("writer/1", None)


def test_a_pending_checkpoint_names_who_is_missing():
    assert checkpoint_history.pending_body(None) == {"pending": None}
    shown = checkpoint_history.pending_body(pending(5, {"writer/0", "audit"}, ack("writer/0")))["pending"]
    assert shown["missing"] == ["audit"]
    assert shown["acknowledged"][0]["participant"] == "writer/0"


def test_how_many_are_expected_is_not_guessed_before_the_batch_has_tasks():
    flight = pending(5, {"writer/0", "audit"}, ack("writer/0"))
    assert checkpoint_history.pending_body(flight)["pending"]["expected"] is None
    assert checkpoint_history.pending_body(replace(flight, has_tasks=True))["pending"]["expected"] == 2
