"""Who took part in a checkpoint, and how it went."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.rest.asgi import ack, completed, failed, later, pending
from tests.unit.rest.flink.test_checkpoints_body import seen

from milepost.checkpoint.model import CheckpointId
from milepost.rest.flink.vertices_body import milliseconds, vertex_id
from milepost.rest.milepost import checkpoint_history_body

DONE = replace(
    completed(7, ack("writer/0", 1, rows=5, bytes=9, details={"flushes": 2}), ack("audit", 1.5, bytes=3)),
    sources=({"orders": {0: 12}},),
    states={"audit": {"n": 1}},
    extra={"note": "secret"},
)


def test_a_completed_attempt_has_everybodys_word():
    shown = checkpoint_history_body.story(DONE)
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
    shown = checkpoint_history_body.story(failed(8, ack("writer/0", -4)))
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
    assert [checkpoint_history_body.story(each)["expected"] for each in attempts] == [2, 3, None, 2]


def test_an_attempt_in_flight_has_no_end():
    shown = checkpoint_history_body.story(pending(9, {"writer/0", "audit"}, ack("writer/0")))
    assert (shown["status"], shown["ended-at"], shown["duration-ms"]) == ("IN_PROGRESS", None, None)
    assert shown["missing"] == ["audit"]


def test_the_history_is_read_page_by_page():
    ended = [
        replace(
            DONE, checkpoint_id=CheckpointId(number), triggered_at=later(number), completed_at=later(number)
        )
        for number in (5, 4, 3)
    ]
    first = checkpoint_history_body.history(ended, None, 2)
    assert [each["id"] for each in first["checkpoints"]] == [5, 4]
    assert first["next-before"] == milliseconds(later(4))
    rest = checkpoint_history_body.history(ended, first["next-before"], 2)
    assert ([each["id"] for each in rest["checkpoints"]], rest["next-before"]) == ([3], None)
    assert checkpoint_history_body.history([], None, 2) == {"checkpoints": [], "next-before": None}


def test_a_line_of_the_history_counts():
    (done, lost) = checkpoint_history_body.history([DONE, failed(8, ack("writer/0"))], None, 9)["checkpoints"]
    assert (done["rows"], done["bytes"], done["state-bytes"]) == (5, 9, 3)
    assert (done["acknowledged"], done["expected"], done["failed-by"]) == (2, 2, [])
    assert (lost["acknowledged"], lost["expected"], lost["failed-by"]) == (1, 3, ["audit"])


def test_participants_have_their_newest_word():
    lost = failed(8, ack("writer/0", 3))
    running = pending(9, {"writer/0", "audit"}, ack("writer/0", 4, rows=1))
    shown = checkpoint_history_body.participants(seen(DONE, lost, running=running))["participants"]
    audit, writer, other = shown
    assert (audit["participant"], audit["kind"], audit["state-bytes"]) == ("audit", "participant", 3)
    assert (audit["vertex-id"], audit["subtask"]) == (vertex_id("audit"), 0)
    assert (audit["is-pending"], audit["last-acknowledgement"]["checkpoint-id"]) == (True, 7)
    assert audit["last-failure"]["checkpoint-id"] == 8
    assert audit["last-failure"]["sentence"] == "audit: ValueError: no"
    assert (writer["last-acknowledgement"]["checkpoint-id"], writer["state-bytes"]) == (9, 0)
    assert (other["participant"], other["last-acknowledgement"]) == ("writer/1", None)
