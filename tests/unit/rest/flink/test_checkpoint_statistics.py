"""The JSON of checkpoints: Flink's fields, casing and nulls, exactly."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.rest.asgi import START, ack, checkpoints_of, completed, failed, later, pending

from milepost.checkpoint.model import CheckpointId, FailedCheckpoint, FailureReason, Trigger
from milepost.checkpoint.stats.counts import Summary
from milepost.config import Checkpointing
from milepost.rest.flink.checkpoint_statistics import details, overview, statistics, stats, subtasks
from milepost.rest.flink.job_vertex import group_participants, vertex_id
from milepost.rest.timestamps import milliseconds

SETTINGS = Checkpointing(dir="/data/orders", retained=2)
T0 = milliseconds(START)
FAILED = FailedCheckpoint(
    checkpoint_id=CheckpointId(8),
    trigger=Trigger.PERIODIC,
    triggered_at=START,
    failed_at=later(3),
    reason=FailureReason.CHECKPOINT_DECLINED,
    detail="audit raised ValueError",
    acknowledged=1,
    waiting_for=3,
)
DONE = completed(
    7, ack("writer/0", 1, bytes=10), ack("writer/1", 1.5, bytes=5), ack("state/0", 1.2, bytes=40)
)


def test_a_completed_checkpoint_has_exactly_flinks_fields():
    assert overview(DONE, checkpoints_of(DONE), SETTINGS) == {
        "className": "completed",
        "id": 7,
        "status": "COMPLETED",
        "is_savepoint": False,
        "savepointFormat": None,
        "trigger_timestamp": T0,
        "latest_ack_timestamp": T0 + 1500,
        "checkpointed_size": 40,
        "state_size": 40,
        "end_to_end_duration": 2000,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": 3,
        "num_acknowledged_subtasks": 3,
        "checkpoint_type": "CHECKPOINT",
        "tasks": {},
        "external_path": "/data/orders/milepost/checkpoints/7.json",
        "discarded": False,
    }


def test_a_failed_checkpoint_says_when_and_why():
    shown = overview(FAILED, checkpoints_of(FAILED), SETTINGS)
    assert (shown["className"], shown["status"]) == ("failed", "FAILED")
    assert (shown["failure_timestamp"], shown["end_to_end_duration"]) == (T0 + 3000, 3000)
    assert shown["failure_message"] == "A participant declined it. audit raised ValueError"
    assert (shown["num_acknowledged_subtasks"], shown["num_subtasks"]) == (1, 3)
    assert shown["latest_ack_timestamp"] == -1
    assert "external_path" not in shown


def test_a_failed_checkpoint_has_the_tasks_of_those_who_acknowledged_and_of_those_who_did_not():
    lost = failed(8, ack("writer/0", -4, bytes=7))
    shown = details(lost, checkpoints_of(lost), SETTINGS, group_participants(lost))
    writers, audit = shown["tasks"][vertex_id("Sink: Writer")], shown["tasks"][vertex_id("audit")]
    assert (audit["status"], audit["num_subtasks"], audit["num_acknowledged_subtasks"]) == ("FAILED", 1, 0)
    assert (audit["latest_ack_timestamp"], audit["end_to_end_duration"]) == (-1, -1)
    assert (writers["num_subtasks"], writers["num_acknowledged_subtasks"]) == (2, 1)
    assert (writers["latest_ack_timestamp"], writers["checkpointed_size"]) == (T0 - 4000, 0)
    assert shown["latest_ack_timestamp"] == T0 - 4000
    (own,) = (vertex for vertex in group_participants(lost) if vertex.name == "audit")
    assert subtasks(lost, own)["subtasks"] == [
        {"className": "pending", "index": 0, "status": "pending_or_failed"}
    ]


def test_a_pending_checkpoint_counts_who_is_missing():
    nobody = overview(pending(9, {"writer/0", "audit"}), checkpoints_of(), SETTINGS)
    assert (nobody["className"], nobody["status"]) == ("in_progress", "IN_PROGRESS")
    assert (nobody["latest_ack_timestamp"], nobody["end_to_end_duration"]) == (-1, -1)
    one = overview(pending(9, {"writer/0", "audit"}, ack("writer/0", 1)), checkpoints_of(), SETTINGS)
    assert (one["num_acknowledged_subtasks"], one["num_subtasks"], one["end_to_end_duration"]) == (1, 2, 1000)


def test_what_retention_has_removed_is_discarded():
    older, newest = completed(4), completed(7)
    assert overview(older, checkpoints_of(older, newest), SETTINGS)["discarded"]


def test_a_savepoint_is_one():
    saved = overview(completed(3, trigger=Trigger.SAVEPOINT), checkpoints_of(), SETTINGS)
    kinds = (saved["is_savepoint"], saved["savepointFormat"], saved["checkpoint_type"])
    assert kinds == (True, "CANONICAL", "SAVEPOINT")


def test_the_path_of_a_savepoint_is_what_a_job_can_be_started_from():
    saved = completed(3, trigger=Trigger.SAVEPOINT)
    lying = replace(checkpoints_of(saved), savepoints={(3, saved.completed_at): "/savepoints/savepoint-1"})
    assert overview(saved, lying, SETTINGS)["external_path"] == "/savepoints/savepoint-1"
    gone = replace(checkpoints_of(saved), savepoints={(3, later(99)): "/savepoints/of-a-former-life"})
    assert overview(saved, gone, SETTINGS)["external_path"] == "/data/orders/milepost/checkpoints/3.json"


def test_the_one_a_job_ends_with_is_told_apart():
    last = overview(completed(3, trigger=Trigger.SYNC_SAVEPOINT), checkpoints_of(), SETTINGS)
    assert (last["is_savepoint"], last["checkpoint_type"]) == (True, "SYNC_SAVEPOINT")


def test_what_writers_sent_to_the_sink_is_no_part_of_a_checkpoints_size():
    taken = completed(7, ack("writer/0", bytes=900), ack("state/0", bytes=40), ack("audit", bytes=3))
    shown = details(taken, checkpoints_of(taken), SETTINGS, group_participants(taken))
    assert (shown["checkpointed_size"], shown["state_size"]) == (43, 43)
    sizes = {vertex: task["state_size"] for vertex, task in shown["tasks"].items()}
    assert sizes == {vertex_id("Sink: Writer"): 0, vertex_id("State: 0"): 40, vertex_id("audit"): 3}


def test_statistics_count_and_keep_the_newest_first():
    running = pending(9, {"writer/0"})
    shown = statistics(checkpoints_of(DONE, FAILED, running=running, restored=completed(6)), SETTINGS)
    assert shown["counts"] == {"restored": 1, "total": 3, "in_progress": 1, "completed": 1, "failed": 1}
    assert [each["id"] for each in shown["history"]] == [9, 8, 7]
    assert list(shown["latest"]) == ["completed", "savepoint", "failed", "restored"]
    assert shown["latest"]["savepoint"] is None
    assert shown["latest"]["restored"] == {
        "id": 6,
        "restore_timestamp": T0 + 9000,
        "is_savepoint": False,
        "external_path": "/data/orders/milepost/checkpoints/6.json",
    }
    assert shown["summary"]["end_to_end_duration"]["max"] == 2000
    assert shown["summary"]["alignment_buffered"]["p50"] == 0.0


def test_of_nothing_the_quantiles_are_not_numbers():
    empty = statistics(checkpoints_of(), SETTINGS)
    assert empty["latest"] == {"completed": None, "savepoint": None, "failed": None, "restored": None}
    assert empty["summary"]["state_size"] == {
        "min": 0,
        "max": 0,
        "avg": 0,
        "p50": "NaN",
        "p90": "NaN",
        "p95": "NaN",
        "p99": "NaN",
        "p999": "NaN",
    }
    assert stats(Summary(quantiles={0.5: 3.0}))["p50"] == 3.0


def test_details_have_a_task_for_every_vertex():
    tasks = details(DONE, checkpoints_of(DONE), SETTINGS, group_participants(DONE))["tasks"]
    writers, state = vertex_id("Sink: Writer"), vertex_id("State: 0")
    assert set(tasks) == {writers, state}
    assert tasks[state] == {
        "id": 7,
        "status": "COMPLETED",
        "latest_ack_timestamp": T0 + 1200,
        "checkpointed_size": 40,
        "state_size": 40,
        "end_to_end_duration": 1200,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": 1,
        "num_acknowledged_subtasks": 1,
    }


def test_subtasks_tell_who_is_missing():
    running = pending(9, {"writer/0", "writer/1"}, ack("writer/1", 2, duration_ms=30, bytes=8))
    (writers,) = group_participants(running)
    shown = subtasks(running, writers)
    assert shown["subtasks"][0] == {"className": "pending", "index": 0, "status": "pending_or_failed"}
    assert shown["subtasks"][1] == {
        "className": "completed",
        "index": 1,
        "status": "completed",
        "ack_timestamp": T0 + 2000,
        "end_to_end_duration": 2000,
        "checkpointed_size": 0,
        "state_size": 0,
        "checkpoint": {"sync": 30, "async": 0},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }
    assert shown["summary"]["checkpoint_duration"]["sync"]["max"] == 30
