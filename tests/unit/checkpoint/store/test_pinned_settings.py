"""What a checkpoint with state has fixed: read from real files, and kept or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import CONF, SparkDirectory

from milepost.checkpoint.store.pinned_settings import (
    HDFS,
    PARTITIONS,
    PROVIDER,
    ROCKSDB,
    pinned_settings,
    require_kept,
)
from milepost.errors import PreflightError

FIXED = {PROVIDER: ROCKSDB, PARTITIONS: "4", "spark.sql.streaming.multipleWatermarkPolicy": "min"}


@pytest.fixture
def directory(tmp_path: Path) -> SparkDirectory:
    return SparkDirectory(tmp_path).batches(offsets=[0, 1], commits=[0])


def test_a_job_without_state_has_nothing_fixed(directory: SparkDirectory) -> None:
    assert pinned_settings(directory.store) == {}


def test_a_new_directory_has_nothing_fixed(tmp_path: Path) -> None:
    assert pinned_settings(SparkDirectory(tmp_path).store) == {}


def test_state_fixes_what_the_newest_entry_of_the_offset_log_says(directory: SparkDirectory) -> None:
    directory.write("state/0/0/1.delta", b"x")
    directory.write("offsets/1", 'v1\n{"conf":{"spark.sql.shuffle.partitions":"7"}}\n{"orders":{"0":1}}')
    assert pinned_settings(directory.store) == {"spark.sql.shuffle.partitions": "7"}
    (directory.root / "offsets" / "1").unlink()
    assert pinned_settings(directory.store) == CONF


def test_a_torn_entry_is_named(directory: SparkDirectory) -> None:
    directory.write("state/0/0/1.delta", b"x")
    directory.write("offsets/1", "v1\n[]\n{}")
    with pytest.raises(PreflightError, match="offsets/1 is not an entry"):
        pinned_settings(directory.store)


@pytest.mark.parametrize(
    "wanted", [{}, FIXED, {PARTITIONS: "4"}, {"spark.other": "x"}, {PROVIDER: ROCKSDB}], ids=str
)
def test_what_stays_or_was_never_fixed_is_free(wanted: dict[str, str]) -> None:
    require_kept(FIXED, wanted, "/data")
    require_kept({}, {PARTITIONS: "9", PROVIDER: HDFS}, "/data")


@pytest.mark.parametrize(
    ("wanted", "sentences"),
    [
        ({PROVIDER: HDFS}, ["written by state-backend rocksdb", "is filesystem", "--fresh"]),
        ({PARTITIONS: "9"}, ["kept in 4 parts", "to 9", "savepoint repartition PATH --to 9"]),
        ({"spark.sql.streaming.multipleWatermarkPolicy": "max"}, ["= min", "to max", "silently"]),
    ],
    ids=["backend", "partitions", "any other"],
)
def test_a_change_that_spark_would_ignore_is_refused(wanted: dict[str, str], sentences: list[str]) -> None:
    with pytest.raises(PreflightError) as caught:
        require_kept(FIXED, wanted, "/data")
    assert [sentence for sentence in ["/data", *sentences] if sentence not in str(caught.value)] == []
