"""Which files belong to a checkpoint."""

from __future__ import annotations

import pytest
from tests.unit.checkpoint.savepoint.conftest import PLAIN, ROCKS, STATE_OF_3, snapshot_zip
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint.selection import IncompleteState, belonging, shared_files


def files(spark: SparkDirectory) -> list[str]:
    return [path.relative_to(spark.root).as_posix() for path in spark.root.rglob("*") if path.is_file()]


def of_3(spark: SparkDirectory) -> set[str]:
    present = files(spark)
    return set(belonging(3, present, spark.store.read))


def test_the_logs_the_sources_the_manifest_and_the_state_of_its_version(filled: SparkDirectory):
    assert of_3(filled) == STATE_OF_3 | {
        "metadata",
        "sources/0/0",
        "offsets/2",
        "offsets/3",
        "commits/2",
        "commits/3",
        "milepost/checkpoints/3.json",
    }


def test_the_first_checkpoint_has_none_before_it(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    present = files(spark)
    assert belonging(0, present, spark.store.read) == ["commits/0", "metadata", "offsets/0", "sources/0/0"]


@pytest.mark.parametrize("lost", [f"{ROCKS}/3.changelog", f"{PLAIN}/4.delta", f"{ROCKS}/4.changelog"])
def test_a_store_without_its_version_is_not_whole(filled: SparkDirectory, lost: str):
    (filled.root / lost).unlink()
    with pytest.raises(IncompleteState, match="has no version"):
        of_3(filled)


def test_a_store_that_only_the_next_batch_has_made_is_left_out(filled: SparkDirectory):
    filled.write("state/2/0/5.changelog", "changes")
    assert not any(name.startswith("state/2/") for name in of_3(filled))


def test_of_stores_with_ids_of_their_own_all_that_is_not_newer_is_taken(spark: SparkDirectory):
    spark.batches(offsets=[2, 3], commits=[2, 3])
    spark.write(f"{ROCKS}/3_aa.zip", snapshot_zip("1-x.sst"))
    spark.write(f"{ROCKS}/3_bb.zip", snapshot_zip("1-y.sst"))
    spark.write(f"{ROCKS}/4_cc.changelog", "c")
    spark.write(f"{ROCKS}/4_cc.changelog.crc", "sum")
    spark.write(f"{ROCKS}/5_dd.changelog", "too new")
    for name in ("1-x.sst", "1-y.sst", "1-z.sst"):
        spark.write(f"{ROCKS}/SSTs/{name}", name)
    assert {n.removeprefix(f"{ROCKS}/") for n in of_3(spark) if n.startswith(ROCKS)} == {
        "3_aa.zip",
        "3_bb.zip",
        "4_cc.changelog",
        "4_cc.changelog.crc",
        "SSTs/1-x.sst",
        "SSTs/1-y.sst",
    }


def test_operators_as_they_were_at_the_checkpoint(filled: SparkDirectory):
    filled.write("state/3/_metadata/v2/0", "v2")
    filled.write("state/3/_metadata/v2/4", "v2")
    filled.write("state/3/_stateSchema/default/0_ab", "v3")
    assert {n for n in of_3(filled) if n.startswith("state/3")} == {
        "state/3/_metadata/v2/0",
        "state/3/_stateSchema/default/0_ab",
    }


def test_what_a_snapshot_refers_to():
    assert shared_files(snapshot_zip("7-a.sst", "8-b.sst")) == ["SSTs/7-a.sst", "SSTs/8-b.sst"]
