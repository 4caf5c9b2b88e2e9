"""The ledger on a directory as Spark leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.checkpoint.rig import START, checkpoint
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends

from milepost.checkpoint.lease.epoch import Owner, begin_epoch
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.store.ledger import FileLedger
from milepost.errors import FencedError


@pytest.fixture
def ledger(spark: SparkDirectory) -> Iterator[FileLedger]:
    lease = Lease.acquire(spark.store, "job")
    yield FileLedger(spark.store, lease, retained=2)
    lease.release()


@pytest.mark.parametrize(
    ("commit", "expected"),
    [
        ('v1\n{"nextBatchWatermarkMs":0}', True),
        (None, False),
        ("", False),
        ("v1", False),
        ("v1\n{", False),
    ],
    ids=["whole", "missing", "empty", "cut short", "damaged"],
)
def test_only_a_whole_entry_of_sparks_commit_log_is_a_commit(
    ledger: FileLedger, spark: SparkDirectory, commit: str | None, expected: bool
) -> None:
    spark.batches(offsets=[0], commits=[])
    if commit is not None:
        spark.write("commits/0", commit)
    committed = ledger.committed(checkpoint(0))
    assert committed == (replace(checkpoint(0), sources=({"orders": ends(0)},)) if expected else None)


def test_as_many_as_are_retained_are_kept_and_all_are_in_the_history(ledger: FileLedger) -> None:
    for number in range(4):
        ledger.complete(checkpoint(number))
    assert ledger.files.ids() == [2, 3]
    assert ledger.history.read() == [checkpoint(number) for number in (3, 2, 1, 0)]


def test_one_that_failed_is_in_the_history_only(ledger: FileLedger) -> None:
    failed = FailedCheckpoint(
        checkpoint_id=CheckpointId(3),
        trigger=Trigger.PERIODIC,
        triggered_at=START,
        failed_at=START,
        reason=FailureReason.CHECKPOINT_DECLINED,
    )
    ledger.failed(failed)
    assert (ledger.files.ids(), ledger.history.read()) == ([], [failed])


@pytest.mark.parametrize(
    ("sealed", "completed", "commits", "resumes_from", "state"),
    [
        ([], [], [], None, None),
        ([0], [], [], None, None),
        ([0], [], [0], 0, 0),
        ([], [0], [0], 0, 0),
        ([1], [0], [0], 0, 0),
        ([1], [0], [0, 1], 1, 1),
        ([], [0], [0, 1], 1, None),
        ([], [0, 1], [0], 0, 0),
    ],
    ids=[
        "nothing",
        "death before the first commit",
        "death after the first commit",
        "complete",
        "death before a commit",
        "death after a commit",
        "nobody had state",
        "Spark's log went back",
    ],
)
def test_where_a_start_resumes(
    ledger: FileLedger,
    spark: SparkDirectory,
    sealed: list[int],
    completed: list[int],
    commits: list[int],
    resumes_from: int | None,
    state: int | None,
) -> None:
    spark.batches(offsets=[0, 1], commits=commits)
    for number in completed:
        ledger.complete(replace(checkpoint(number), states={"counter": number}))
    for number in sealed:
        ledger.seal(replace(checkpoint(number), states={"counter": number}))
    restored = ledger.recover()
    assert (restored and restored.checkpoint_id) == resumes_from
    assert (restored and restored.states.get("counter")) == state
    assert spark.store.names("milepost/sealed") == []


def test_it_seals_under_the_epoch_of_its_lease_until_there_is_a_newer_one(
    ledger: FileLedger, spark: SparkDirectory
) -> None:
    ledger.verify_lease()
    begin_epoch(spark.store, ledger.epoch + 1, Owner.here("another job", START))
    with pytest.raises(FencedError):
        ledger.verify_lease()


def test_a_checkpoint_that_a_dead_driver_completed_is_in_the_history_once(
    ledger: FileLedger, spark: SparkDirectory
) -> None:
    spark.batches(offsets=[0, 1], commits=[0, 1])
    restored = ledger.recover()
    assert restored is not None
    assert restored.checkpoint_id == 1
    ledger.recover()
    assert [event.checkpoint_id for event in ledger.history.read() if hasattr(event, "checkpoint_id")] == [1]


def test_a_failed_step_8_loses_nothing_that_the_process_still_has(
    ledger: FileLedger, spark: SparkDirectory
) -> None:
    spark.batches(offsets=[0, 1], commits=[0, 1])
    ledger.complete(checkpoint(0))
    acks = (Acknowledgement(participant="writer/0", at=START, rows=8),)
    committed = ledger.committed(replace(checkpoint(1), acknowledgements=acks))
    assert ledger.recover() == committed == ledger.recovered
    assert ledger.recover() == committed
    assert ledger.recovered is None, "it is stored by now"
    assert ledger.history.read()[0] == committed


def test_a_batch_that_was_not_sealed_has_the_late_records_of_the_one_before(
    ledger: FileLedger, spark: SparkDirectory
) -> None:
    spark.batches(offsets=[0, 1], commits=[0, 1])
    ledger.complete(replace(checkpoint(0), late={"orders": 3}, late_total={"orders": 500}))
    restored = ledger.recover()
    assert restored is not None
    assert (restored.checkpoint_id, restored.late, restored.late_total) == (1, {}, {"orders": 500})
