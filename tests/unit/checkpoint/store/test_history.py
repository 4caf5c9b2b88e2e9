"""What happened comes back, newest first, whatever a death did to the last line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    FailedBy,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.history import (
    EXCEPTIONS_KEPT,
    ExceptionEntry,
    History,
    JobEvent,
)
from milepost.checkpoint.store.store import Store

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
COMPLETED = CompletedCheckpoint(
    checkpoint_id=CheckpointId(1),
    trigger=Trigger.PERIODIC,
    triggered_at=NOW,
    completed_at=NOW + timedelta(seconds=1),
    job_id="j",
    epoch=1,
    sources=({"t": {0: 5}},),
    acknowledgements=(Acknowledgement(participant="writer/0", at=NOW, rows=3),),
)
FAILED = FailedCheckpoint(
    checkpoint_id=CheckpointId(2),
    trigger=Trigger.ON_DEMAND,
    triggered_at=NOW,
    failed_at=NOW,
    reason=FailureReason.CHECKPOINT_DECLINED,
    detail="'audit' raised",
    acknowledged=1,
    waiting_for=2,
    acknowledgements=(Acknowledgement(participant="writer/0", at=NOW, rows=3, details={"retries": 1}),),
    missing=("audit",),
    failed_by=(FailedBy(participant="audit", sentence="ValueError: no", traceback="File x"),),
)


def moved(number: int) -> JobEvent:
    return JobEvent(at=NOW, job_id="j", status="RUNNING", detail=f"move {number}")


def failure(number: int) -> ExceptionEntry:
    return ExceptionEntry(
        at=NOW,
        job_id="j",
        attempt=number,
        what="The table is gone",
        why="it was dropped",
        fix="Create it",
        status="RESTARTING",
    )


def test_events_come_back_newest_first(store: Store):
    history = History(store)
    assert history.read() == []
    for event in (moved(1), COMPLETED, FAILED):
        history.append(event)
    assert history.read() == [FAILED, COMPLETED, moved(1)]
    assert History(store).read(2) == [FAILED, COMPLETED]


def test_the_line_of_a_failed_checkpoint_from_before_names_were_kept_still_loads(store: Store):
    line = {
        "format": 1,
        "event": "failed-checkpoint",
        "id": 2,
        "trigger": "ON_DEMAND",
        "triggered-at": NOW.isoformat(),
        "failed-at": NOW.isoformat(),
        "reason": "CHECKPOINT_DECLINED",
        "detail": "'audit' raised",
        "acknowledged": 1,
        "waiting-for": 2,
    }
    store.append(names.HISTORY, json.dumps(line).encode())
    (event,) = History(store).read()
    assert event == replace(FAILED, acknowledgements=(), missing=(), failed_by=())


def test_lines_have_the_keys_that_former_versions_require(store: Store):
    history = History(store)
    history.append(moved(1))
    history.append(failure(1))
    assert json.loads(store.read(names.HISTORY))["plan"] == []
    assert json.loads(store.read(names.EXCEPTIONS))["traceback"] == ""


def test_the_attempts_at_one_checkpoint_are_found_among_the_others(store: Store):
    history = History(store)
    again = replace(COMPLETED, checkpoint_id=CheckpointId(2))
    other = replace(COMPLETED, checkpoint_id=CheckpointId(12))
    for event in (moved(2), COMPLETED, FAILED, again, other):
        history.append(event)
    assert history.of_checkpoint(2) == [again, FAILED]
    assert history.of_checkpoint(3) == []


def test_states_stay_in_the_manifest(store: Store):
    acks = (replace(COMPLETED.acknowledgements[0], details={"offsets": "…"}),)
    History(store).append(replace(COMPLETED, states={"p": b"secret"}, extra={"e": 1}, acknowledgements=acks))
    assert History(store).read() == [COMPLETED]


@pytest.mark.parametrize(
    "torn", [b"", b"{", b'{"format":1,"event":"job"', b"\xff\xfe", b'{"format":1,"event":"job"}']
)
def test_a_torn_last_line_is_passed_over(store: Store, torn: bytes):
    History(store).append(moved(1))
    store.replace("milepost/history.jsonl", store.read("milepost/history.jsonl") + torn)
    assert History(store).read() == [moved(1)]
    History(store).append(moved(2))
    assert History(store).read() == [moved(2), moved(1)]


def test_lines_of_another_format_are_passed_over(store: Store):
    store.append("milepost/history.jsonl", b'{"format":2,"event":"job"}')
    store.append("milepost/history.jsonl", b'{"format":1,"event":"of a later release"}')
    store.append("milepost/history.jsonl", b"[]")
    assert History(store).read() == []


def test_it_is_bounded(store: Store):
    history = History(store, rotate_at=1000)
    for number in range(100):
        history.append(moved(number))
    assert store.size("milepost/history.jsonl") <= 1000
    assert store.size("milepost/history.1.jsonl") <= 1000
    events = history.read()
    assert events == [moved(number) for number in range(99, 99 - len(events), -1)]
    assert len(events) > 5
    # One who comes later goes on where the file stands.
    again = History(store, rotate_at=1000)
    for number in range(100, 200):
        again.append(moved(number))
    assert store.size("milepost/history.jsonl") <= 1000


def test_the_newest_exceptions_are_kept(store: Store):
    history = History(store)
    assert history.exceptions() == []
    for number in range(100):
        history.append(failure(number))
    assert history.exceptions() == [failure(number) for number in range(99, 99 - EXCEPTIONS_KEPT, -1)]
    assert store.read("milepost/exceptions.jsonl").count(b"\n") <= 2 * EXCEPTIONS_KEPT
    assert history.read() == []


def test_the_newest_plan_is_kept(store: Store):
    history = History(store)
    assert history.plan() is None
    history.store_plan({"start": "group offsets"})
    history.store_plan({"start": "state"})
    assert history.plan() == {"start": "state"}
    store.replace("milepost/plan.json", b"{")
    assert history.plan() is None
