"""States and checkpoints come back from the history, in bounded memory, read at most once a second."""

from __future__ import annotations

from pathlib import Path

from tests.unit.rest.asgi import JOB, START, ack, completed, later

from milepost.checkpoint.model import CheckpointId, FailedCheckpoint, FailureReason, Trigger
from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.rest.view.history_cache import CHECKPOINTS, CheckpointPoint, HistoryCache


def test_states_and_checkpoints_are_told_oldest_first(tmp_path: Path):
    history = History(LocalStore(tmp_path))
    history.append(JobEvent(at=START, job_id=JOB, status="RUNNING"))
    history.append(
        completed(
            1, ack("writer/0", rows=7, bytes=70), ack("writer/1", rows=3, bytes=30), ack("state/a", bytes=9)
        )
    )
    history.append(
        FailedCheckpoint(
            checkpoint_id=CheckpointId(2),
            trigger=Trigger.ON_DEMAND,
            triggered_at=later(3),
            failed_at=later(4.5),
            reason=FailureReason.CHECKPOINT_DECLINED,
        )
    )
    history.append(JobEvent(at=later(6), job_id=JOB, status="FAILED", detail="no table"))
    seen = HistoryCache(LocalStore(tmp_path))
    assert [(interval.event.status, interval.last_seen_at) for interval in seen.state_intervals()] == [
        ("RUNNING", later(4.5)),
        ("FAILED", later(6)),
    ]
    assert seen.checkpoint_points() == [
        CheckpointPoint(
            checkpoint_id=1,
            at=later(2),
            trigger="PERIODIC",
            is_completed=True,
            duration_ms=2000,
            state_bytes=9,
            written_bytes=100,
            rows=10,
        ),
        CheckpointPoint(
            checkpoint_id=2, at=later(4.5), trigger="ON_DEMAND", is_completed=False, duration_ms=1500
        ),
    ]


def test_the_file_is_looked_at_once_a_second(tmp_path: Path):
    history, now = History(LocalStore(tmp_path)), [0.0]
    seen = HistoryCache(LocalStore(tmp_path), lambda: now[0])
    assert seen.checkpoint_points() == []
    history.append(completed(1))
    now[0] = 0.9
    assert seen.checkpoint_points() == []
    now[0] = 1.0
    assert len(seen.checkpoint_points()) == 1


def test_memory_is_bounded(tmp_path: Path):
    seen = HistoryCache(LocalStore(tmp_path))
    for number in range(CHECKPOINTS + 5):
        seen._add(completed(number))
    assert len(seen._points) == CHECKPOINTS
