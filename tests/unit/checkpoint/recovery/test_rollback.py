"""A directory goes back to an older checkpoint, and can be taken there again after a death."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.rig import checkpoint
from tests.unit.checkpoint.spark_directory import Mortal, PowerCut, SparkDirectory, ends

from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.recovery.rollback import clear_rolled_back, retained, roll_back
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.versions import versions
from milepost.errors import NotReachableError


@pytest.fixture
def job(spark: SparkDirectory) -> SparkDirectory:
    spark.batches(offsets=range(6), commits=range(5))
    for number in range(1, 7):
        spark.write(f"state/0/0/{number}.delta", b"")
    files = CheckpointFiles(spark.store)
    for number in (3, 4):
        spark.write(names.manifest_of(number), "")
    files.seal(checkpoint(5))
    versions.record(spark.store, versions.Versions(generation=7))
    return spark


def test_what_is_newer_is_set_aside(job: SparkDirectory):
    assert retained(job.store, 2).sources == ({"orders": ends(2)},)
    roll_back(job.store, 2)
    newest = newest_completed(job.store)
    assert newest is not None
    assert newest.batch_id == 2
    assert sorted(job.store.names("offsets")) == ["0", "1", "2"]
    assert sorted(job.store.names("state/0/0")) == ["1.delta", "2.delta", "3.delta"]
    assert CheckpointFiles(job.store).ids() == []
    aside = {name.removeprefix(f"{names.ROLLED_BACK}/") for name in job.store.walk(names.ROLLED_BACK)}
    assert {"offsets/5", "commits/4", "state/0/0/6.delta", "milepost/checkpoints/4.json"} <= aside
    check_directory(job.store, job_name="orders")
    clear_rolled_back(job.store)
    assert not job.store.exists(names.ROLLED_BACK)


def test_a_death_at_every_move_can_be_gone_on_from(spark: SparkDirectory, tmp_path: Path):
    moves = 0
    while True:
        each = SparkDirectory(tmp_path / str(moves))
        each.batches(offsets=range(4), commits=range(4))
        for number in range(1, 5):
            each.write(f"state/0/0/{number}.delta", b"")
        try:
            roll_back(Mortal(each.root, moves), 1)
            break
        except PowerCut:
            roll_back(each.store, 1)
        newest = newest_completed(each.store)
        assert newest is not None
        assert newest.batch_id == 1
        check_directory(each.store, job_name="orders")
        moves += 1
    assert moves > 4


@pytest.mark.parametrize("number", [5, 9])
def test_a_checkpoint_that_is_not_there_is_refused(job: SparkDirectory, number: int):
    with pytest.raises(NotReachableError, match=f"Checkpoint {number} is no longer in") as raised:
        retained(job.store, number)
    assert "has 0 to 4" in raised.value.why


def test_a_checkpoint_whose_forerunner_is_purged_is_refused(job: SparkDirectory):
    for name in ("offsets/0", "offsets/1", "commits/0"):
        (job.root / name).unlink()
    with pytest.raises(NotReachableError, match="Checkpoint 2 is no longer in"):
        retained(job.store, 2)
    assert retained(job.store, 3).batch_id == 3
