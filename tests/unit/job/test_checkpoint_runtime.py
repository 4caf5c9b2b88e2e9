"""What of the spine needs no Spark: its rules, what it restores, what it remembers, what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.rig import START, checkpoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import CheckpointId, FailedCheckpoint, FailureReason, Trigger
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.ports import Rules
from milepost.checkpoint.schedule import CheckpointSchedule
from milepost.checkpoint.store.history import JobEvent
from milepost.checkpoint.store.identity import recorded_job
from milepost.config import Checkpointing, Config
from milepost.errors import LeaseHeldError, PreflightError
from milepost.job.checkpoint_runtime import CheckpointRuntime, checkpoint_rules


class Counter:
    name = "counter"

    def __init__(self) -> None:
        self.began_from: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.began_from.append(context.state)

    def snapshot_state(self, _context: Any) -> int:
        return 0


@pytest.fixture
def spark(tmp_path: Path) -> SparkDirectory:
    return SparkDirectory(tmp_path / "orders")


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def spine(spark: SparkDirectory, counter: Counter) -> Iterator[CheckpointRuntime]:
    spine = open_spine(spark, counter)
    yield spine
    spine.close()


def open_spine(spark: SparkDirectory, *participants: object) -> CheckpointRuntime:
    kafka = {"bootstrap-servers": "h:9092", "topics": ["orders"], "group-id": "g"}
    document: dict[str, Any] = {"source": {"kafka": kafka}, "sink": {"console": {}}}
    config = Config(name="orders", checkpointing={"dir": str(spark.root)}, **document)
    return CheckpointRuntime.open(config, "job-1", Participants(list(participants)))


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


DEFAULTS: dict[str, Any] = {"min_pause": seconds(0), "tolerable_failures": 0, "execution": "micro-batch"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"interval": seconds(10), "timeout": seconds(60)},
            Rules(schedule=CheckpointSchedule(10, 0), timeout=60),
        ),
        (
            {"interval": seconds(10), "timeout": seconds(60), "min_pause": seconds(4)},
            Rules(schedule=CheckpointSchedule(10, 4), timeout=60),
        ),
        (
            {"interval": seconds(0), "timeout": seconds(60)},
            Rules(schedule=CheckpointSchedule(0, 0), timeout=60),
        ),
        (
            {"interval": seconds(10), "timeout": seconds(60), "tolerable_failures": 3},
            Rules(schedule=CheckpointSchedule(10, 0), timeout=60, tolerable_failures=3),
        ),
        (
            {"interval": seconds(10), "timeout": seconds(60), "execution": "real-time"},
            Rules(schedule=CheckpointSchedule(0, 0), timeout=70, is_continuous=True),
        ),
    ],
    ids=["interval", "pause", "free-running", "tolerable failures", "real-time"],
)
def test_the_rules_of_a_configuration(settings: dict[str, Any], expected: Rules) -> None:
    rules = checkpoint_rules(Checkpointing.model_construct(dir="/c", **DEFAULTS | settings))
    assert rules == expected


@pytest.mark.parametrize(
    ("states", "unclaimed_states"),
    [
        ({}, None),
        ({"counter": 7}, None),
        ({"counter": 7, "ledger": 1}, "'ledger'"),
        ({"ledger": 1, "audit": 2}, "'audit', 'ledger'"),
    ],
)
def test_a_state_that_nobody_takes_is_refused(
    spine: CheckpointRuntime,
    spark: SparkDirectory,
    counter: Counter,
    states: dict[str, int],
    unclaimed_states: str | None,
) -> None:
    spark.batches(offsets=[0], commits=[0])
    spine.ledger.complete(replace(checkpoint(0), states=states))
    if unclaimed_states is None:
        restored = spine.restore()
        assert restored is not None
        assert restored.checkpoint_id == 0
        assert counter.began_from == [states.get("counter")]
        return
    with pytest.raises(PreflightError, match=unclaimed_states):
        spine.restore()
    assert counter.began_from == [], "nobody was touched"


def test_a_state_that_nobody_takes_is_let_go_where_that_was_allowed(
    spine: CheckpointRuntime, spark: SparkDirectory, counter: Counter
) -> None:
    spark.batches(offsets=[0], commits=[0])
    spine.ledger.complete(replace(checkpoint(0), states={"counter": 7, "ledger": 1}))
    restored = spine.restore_allowing_unclaimed()
    assert restored is not None
    assert restored.checkpoint_id == 0
    assert counter.began_from == [7]


def test_a_first_start_restores_nothing(spine: CheckpointRuntime, counter: Counter) -> None:
    assert spine.restore() is None
    assert counter.began_from == [None]


def test_the_counts_go_on_where_the_history_ends(spark: SparkDirectory) -> None:
    first = open_spine(spark)
    failed = FailedCheckpoint(
        checkpoint_id=CheckpointId(1),
        trigger=Trigger.PERIODIC,
        triggered_at=START,
        failed_at=START,
        reason=FailureReason.CHECKPOINT_DECLINED,
    )
    first.ledger.complete(checkpoint(0))
    first.ledger.history.append(JobEvent(at=START, job_id="job-1", status="RESTARTING"))
    first.ledger.failed(failed)
    first.ledger.complete(checkpoint(1))
    first.close()
    second = open_spine(spark)
    stats = second.coordinator.stats
    second.close()
    assert (stats.completed, stats.failed) == (2, 1)
    assert list(stats.history) == [checkpoint(0), failed, checkpoint(1)]


def test_the_lease_is_held_from_open_to_close(spark: SparkDirectory) -> None:
    spine = open_spine(spark)
    with pytest.raises(LeaseHeldError):
        Lease.acquire(spark.store, "another job")
    spine.close()
    Lease.acquire(spark.store, "another job").release()


def test_whose_the_directory_is_stands_in_it(spine: CheckpointRuntime, spark: SparkDirectory) -> None:
    job = recorded_job(spark.store)
    assert job is not None
    assert (job.name, job.job_id) == ("orders", "job-1")


def test_an_opening_that_fails_leaves_no_lease(
    spark: SparkDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("milepost.checkpoint.store.identity.record_job", full)
    with pytest.raises(OSError, match="No space"):
        open_spine(spark)
    Lease.acquire(spark.store, "another job").release()
