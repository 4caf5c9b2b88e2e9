"""Files are set aside under their own names, and the newer ones are found without touching the rest."""

from __future__ import annotations

import pytest
from tests.unit.checkpoint.spark_directory import Mortal, PowerCut, SparkDirectory

from milepost.checkpoint.recovery import quarantine
from milepost.checkpoint.store import layout as names


def test_files_keep_their_names(spark: SparkDirectory):
    spark.batches(offsets=[0, 1], commits=[0])
    quarantine.set_aside(spark.store, (f"offsets/{name}" for name in spark.store.names("offsets")), "aside/1")
    assert [*spark.store.walk("aside")] == ["aside/1/offsets/0", "aside/1/offsets/1"]
    assert spark.store.names("offsets") == []


def test_files_are_moved_in_the_order_given(spark: SparkDirectory):
    spark.batches(offsets=[0, 1, 2], commits=[])
    with pytest.raises(PowerCut):
        quarantine.set_aside(Mortal(spark.root, 2), ["offsets/2", "offsets/1", "offsets/0"], "aside/1")
    assert spark.store.names("offsets") == ["0"]


def test_only_numbered_folders_are_sets(spark: SparkDirectory):
    for name in ("1", "12", "x", "03"):
        spark.write(f"aside/{name}/offsets/0", "")
    assert quarantine.numbers(spark.store, "aside") == [1, 12]
    assert quarantine.numbers(spark.store, "none") == []


def test_state_of_a_later_batch_is_newer(spark: SparkDirectory):
    for name in ("3.delta", "4.delta", "4_5f1c.zip", ".4.delta.crc", "_metadata"):
        spark.write(f"state/0/0/{name}", "")
    newer = {name.removeprefix("state/0/0/") for name in quarantine.newer_state(spark.store, 2)}
    assert newer == {"4.delta", "4_5f1c.zip", ".4.delta.crc"}


def test_a_manifest_is_set_aside_if_it_is_newer_or_damaged(spark: SparkDirectory):
    for number in range(4):
        spark.write(names.manifest_of(number), "")
    spark.write(f"{names.CHECKPOINTS}/notes.txt", "")
    found = quarantine.newer_manifests(spark.store, names.CHECKPOINTS, 2, {names.manifest_of(0)})
    assert {*found} == {names.manifest_of(0), names.manifest_of(3)}


def test_entries_outside_a_range_come_newest_first_with_their_checksums(spark: SparkDirectory):
    spark.batches(offsets=range(4), commits=[])
    spark.checksum("offsets/3")
    found = [*quarantine.entries_outside(spark.store, "offsets", range(1, 3))]
    assert found == ["offsets/3", "offsets/.3.crc", "offsets/0"]
