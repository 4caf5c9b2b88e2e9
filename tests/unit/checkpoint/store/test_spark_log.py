from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends, offsets_text

from milepost.checkpoint.store.spark_log import (
    CompletedBatch,
    batch_ids,
    initial_offsets,
    is_committed,
    newest_completed,
    read_commit,
    read_offsets,
    sweep_temporary_files,
)
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import PreflightError


def test_nothing_completed_in_a_new_directory(tmp_path: Path):
    assert newest_completed(LocalStore(tmp_path / "new")) is None


@pytest.mark.parametrize(
    ("offsets", "commits", "newest"),
    [
        ([0], [], None),
        ([0, 1], [0], 0),
        ([9, 10], [9, 10], 10),
        ([5, 6], [4, 5], 5),
    ],
    ids=["not committed", "one committed", "ordered as numbers", "purged"],
)
def test_the_newest_batch_that_both_logs_have(
    spark: SparkDirectory, offsets: list[int], commits: list[int], newest: int | None
):
    spark.batches(offsets=offsets, commits=commits)
    expected = None if newest is None else CompletedBatch(newest, ({"orders": ends(newest)},))
    assert newest_completed(spark.store) == expected
    assert newest_completed(spark.store) == expected


def test_logs_are_read_on_every_file_system(store: Store):
    store.replace("offsets/0", offsets_text({"t": {0: 5}}).encode())
    store.replace("commits/0", b'v1\n{"nextBatchWatermarkMs":0}')
    assert newest_completed(store) == CompletedBatch(0, ({"t": {0: 5}},))
    assert is_committed(store, 0)
    assert not is_committed(store, 1)


def test_only_numbers_are_entries(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[])
    for name in (".1.6e7a.tmp", ".0.crc", "1.bak", "²", "notes"):
        spark.write(f"offsets/{name}", "")
    (spark.root / "offsets/7").mkdir()
    assert batch_ids(spark.store, "offsets") == {0}


def test_a_source_without_offsets_has_none(spark: SparkDirectory):
    spark.write("offsets/0", 'v1\n{}\n-\n{"t":{"0":1}}')
    assert read_offsets(spark.store, 0) == ({}, {"t": {0: 1}})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("v1", "nothing follows its version"),
        ("v1\n", "nothing follows its version"),
        ("v1\n{}", "it names no source"),
        ("v999\n{}\n{}", "its version is 'v999'"),
        ("\x00\x00", "its version is"),
        ('v1\n{}\n{"t":{"0"', "cut off"),
        ('v1\n{}\n["t"]', "expected form"),
        ('v1\n{}\n{"t":{"0":-1}}', "-1 is not an offset"),
        ('v1\n{}\n{"t":{"0":"5"}}', "'5' is not an offset"),
        ('v1\n{}\n{"logOffset":3}', "expected form"),
        ("v1\n[]\n{}", "not a JSON object"),
        (b"v1\n\xff\n{}", "it is not text"),
    ],
)
def test_a_damaged_entry_of_the_offset_log_is_named(spark: SparkDirectory, text: str | bytes, why: str):
    spark.write("offsets/7", text)
    with pytest.raises(PreflightError, match="offsets/7 is not an entry of Spark's offset log") as raised:
        read_offsets(spark.store, 7)
    assert why in raised.value.why


@pytest.mark.parametrize(
    ("text", "committed"),
    [
        ('v1\n{"nextBatchWatermarkMs":0}', True),
        ('v1\n{"nextBatchWatermarkMs":0}\n', True),
        ('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}', True),
        ("v1", False),
        ("v1\n", False),
        ("", False),
        ('v1\n{"nextBatch', False),
        ("v999\n{}", False),
        ("v1\n[]", False),
        ("v1\n{}\n{}", False),
        (b"\xff\xfe", False),
    ],
)
def test_a_commit_is_judged_by_its_content(spark: SparkDirectory, text: str | bytes, committed: bool):
    spark.write("commits/7", text)
    assert is_committed(spark.store, 7) is committed
    if not committed:
        with pytest.raises(PreflightError, match="commits/7 is not an entry of Spark's commit log"):
            read_commit(spark.store, 7)


def test_where_the_first_start_began(spark: SparkDirectory):
    assert initial_offsets(spark.store) is None
    spark.write("sources/0/0", '\0v1\n{"t":{"0":7}}')
    spark.write("sources/1/0", '\0v1\n{"u":{"0":8}}')
    assert initial_offsets(spark.store) == {"t": {0: 7}, "u": {0: 8}}
    assert initial_offsets(spark.store) == {"t": {0: 7}, "u": {0: 8}}


@pytest.mark.parametrize("text", ["", "\0v1", "\0v2\n{}", "\0v1\n{cut", "\0v1\n{}\n{}"])
def test_a_damaged_beginning_is_named(spark: SparkDirectory, text: str):
    spark.write("sources/0/0", text)
    with pytest.raises(PreflightError, match="does not say where the source began"):
        initial_offsets(spark.store)


def test_sweep_removes_only_what_a_kill_left(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    orphans = ["offsets/.1.6e7a.tmp", "commits/.1.6e7a.tmp", "commits/.1.6e7a.tmp.crc"]
    orphans += ["milepost/.job.json.6e7a.tmp", "milepost/checkpoints/.0.json.6e7a.tmp"]
    for name in [*orphans, "commits/.0.crc", "milepost/driver.tmp"]:
        spark.write(name, "v1")
    assert sweep_temporary_files(spark.store) == orphans
    assert spark.store.names("commits") == [".0.crc", "0"]
    assert spark.store.names("milepost") == ["driver.tmp"]
