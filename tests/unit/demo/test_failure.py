"""The failure demo reports what the job left, and fails if the replay is not the expected one."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.store.history import ExceptionEntry
from milepost.config import load_config
from milepost.demo.arrivals import Arrival
from milepost.demo.environment import DemoEnvironment
from milepost.demo.failure import (
    FAILS_ON,
    FIRST_CHECKPOINT,
    RECORDS,
    RunRecord,
    attempt_lines,
    orders,
    require_replay,
)
from milepost.demo.failure import write_pipeline as write
from milepost.errors import VerificationError
from milepost.services import Endpoints

NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


def checkpoint(number: int, second: int, *offsets: int) -> CompletedCheckpoint:
    at = NOON + timedelta(seconds=second)
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=at,
        completed_at=at,
        job_id="j",
        epoch=1,
        sources=({"t": dict(enumerate(offsets))},),
    )


def record(*again: tuple[int, int]) -> RunRecord:
    """Return how a job went that failed after the checkpoint at 2 and 1; these records came again."""
    first = [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 1)]
    numbered = enumerate([(1, record) for record in first] + [(2, record) for record in again], 1)
    failure = ExceptionEntry(
        at=NOON + timedelta(seconds=5), job_id="j", attempt=1, what="it broke", status="RESTARTING"
    )
    return RunRecord(
        [Arrival(number, attempt, *record) for number, (attempt, record) in numbered],
        [checkpoint(0, 1, 2, 1), checkpoint(1, 3, 2, 1), checkpoint(2, 9, 4, 2)],
        [failure],
    )


def test_receipts_checkpoints_and_the_failure_are_told_in_order() -> None:
    assert list(attempt_lines(record((0, 2), (0, 3), (1, 1)))) == [
        "attempt 1",
        "  received  1: partition 1 offset 0",
        "  received  2: partition 1 offset 1",
        "  received  3: partition 2 offset 0",
        "  checkpoint 0: partition 1 is at offset 2, partition 2 is at offset 1",
        "  received  4: partition 1 offset 2",
        "  received  5: partition 1 offset 3",
        "  received  6: partition 2 offset 1",
        "  failed: it broke",
        "  RESTARTING, by the restart strategy",
        "attempt 2",
        "  received  7: partition 1 offset 2, again",
        "  received  8: partition 1 offset 3 <- the sink fails on this record",
        "  received  9: partition 2 offset 1, again",
        "  checkpoint 2: partition 1 is at offset 4, partition 2 is at offset 2",
    ]


@pytest.mark.parametrize(
    "again",
    [
        [(0, 2), (0, 3), (1, 1)],
        # There is no order between partitions.
        [(1, 1), (0, 2), (0, 3)],
        # What comes for the first time has not come again.
        [(0, 2), (0, 3), (1, 1), (0, 4)],
    ],
)
def test_all_after_the_checkpoint_comes_again(again: list[tuple[int, int]]) -> None:
    assert sorted(a.record for a in require_replay(record(*again))) == [(0, 2), (0, 3), (1, 1)]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param([], id="nothing"),
        pytest.param([(0, 2), (0, 3)], id="one is lost"),
        pytest.param([(0, 3), (0, 2), (1, 1)], id="not in order"),
        pytest.param([(0, 1), (0, 2), (0, 3), (1, 1)], id="from before the checkpoint"),
        pytest.param([(0, 2), (0, 2), (0, 3), (1, 1)], id="three times"),
    ],
)
def test_anything_else_is_refused(again: list[tuple[int, int]]) -> None:
    with pytest.raises(VerificationError, match="not those after the last checkpoint"):
        require_replay(record(*again))


def test_a_job_without_a_checkpoint_or_a_failure_shows_nothing() -> None:
    with pytest.raises(VerificationError):
        require_replay(RunRecord([], [], []))


def test_the_eighth_record_is_the_first_after_the_checkpoint_of_the_documents() -> None:
    assert FAILS_ON == 8
    # Spark shares a limit out in proportion to what each partition holds.
    assert [FIRST_CHECKPOINT * count / sum(RECORDS) for count in RECORDS] == [4, 3]


def test_each_order_is_a_row_of_its_own() -> None:
    events = list(orders())
    assert len({event.key for event in events}) == len(events)
    assert Counter(event.partition for event in events) == {0: RECORDS[0], 1: RECORDS[1]}


def test_the_pipeline_ends_by_itself_and_restarts_once(tmp_path: Path) -> None:
    environment = DemoEnvironment(tmp_path, Endpoints("127.0.0.1:1", "127.0.0.1:2"), "t")
    config = load_config(write(environment))
    assert (config.views["source"].stop, config.restart.attempts) == ("latest", 1)
    assert config.transform is not None
    assert config.transform.python == "watched:watched"
    assert (tmp_path / "watched.py").is_file()
