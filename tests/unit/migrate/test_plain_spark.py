"""What a directory of plain Spark is refused for, each by its name."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.unit.checkpoint.spark_directory import SparkDirectory, ends, offsets_text

from milepost.checkpoint.store.identity import JobIdentity, record_job
from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.migrate.plain_spark import describe_other_source, inspect_checkpoint, require_unchanged

OPERATOR = 'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":[]}'


def refused(spark: SparkDirectory) -> MilepostError:
    with pytest.raises(MilepostError) as raised:
        inspect_checkpoint(spark.store)
    assert raised.value.fix
    return raised.value


def test_what_is_found(spark: SparkDirectory):
    spark.batches(offsets=range(3), commits=range(3))
    spark.write("state/0/_metadata/metadata", OPERATOR)
    spark.write("state/1/0/1.delta", b"")
    found = inspect_checkpoint(spark.store)
    assert found.query_id == "4d7fe9a7-972b-4136-9bdb-dc7bbd5c28b5"
    assert found.sources == ({"orders": ends(2)},)
    assert found.completed is not None
    assert (found.completed.batch_id, found.in_flight) == (2, None)
    assert found.newest_batch_ms == 1794736743209
    assert found.settings["spark.sql.shuffle.partitions"] == "2"
    assert found.operators == ("stateStoreSave", "operator 1")


def test_the_newest_metadata_of_an_operator_counts(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    for batch, name in ((9, "old"), (10, "transformWithStateExec")):
        text = "v2\n" + json.dumps({"operatorInfo": {"operatorId": 0, "operatorName": name}})
        spark.write(f"state/0/_metadata/v2/{batch}", text)
    assert inspect_checkpoint(spark.store).operators == ("transformWithStateExec",)


def test_a_batch_that_was_begun_is_known(spark: SparkDirectory):
    spark.batches(offsets=range(3), commits=range(2))
    found = inspect_checkpoint(spark.store)
    assert found.completed is not None
    assert (found.completed.batch_id, found.in_flight) == (1, 2)
    assert found.sources == ({"orders": ends(2)},)


def test_a_first_batch_that_never_completed(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[])
    found = inspect_checkpoint(spark.store)
    assert (found.completed, found.in_flight) == (None, 0)


def test_an_offset_log_of_an_old_spark_has_no_settings(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    spark.write("offsets/0", 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":5}\n{"orders":{"0":1,"1":1}}')
    spark.write("commits/0", "v1\n{}")
    found = inspect_checkpoint(spark.store)
    assert (found.settings, found.newest_batch_ms) == ({}, 5)


def test_nothing_is_there(spark: SparkDirectory):
    assert isinstance(refused(spark), NotReachableError)
    spark.write("part-0001.parquet", b"")
    assert "is not a checkpoint of a Spark query" in refused(spark).what


def test_a_file(spark: SparkDirectory):
    spark.root.write_text("")
    assert "is a file" in refused(spark).what


def test_a_query_that_never_began(spark: SparkDirectory):
    spark.batches(offsets=[], commits=[])
    error = refused(spark)
    assert "nothing to adopt" in error.what
    assert "source.kafka.start" in error.fix


def test_a_directory_of_ours(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    record_job(spark.store, JobIdentity(name="orders", job_id="j"))
    assert "already the checkpoint directory of the Milepost job 'orders'" in refused(spark).what


@pytest.mark.parametrize("version", ["v2", "v99", ""])
def test_another_format_of_the_offset_log(spark: SparkDirectory, version: str):
    spark.batches(offsets=[0], commits=[0])
    spark.write("offsets/0", offsets_text({"orders": ends(0)}).replace("v1", version, 1))
    assert f"has the format {version!r}" in refused(spark).what


def test_another_format_of_the_commit_log(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    spark.write("commits/0", "v9\n{}")
    assert "its version is 'v9'" in refused(spark).why


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"logOffset":3}', "files"),
        ("12", "rate"),
        ('{"sourceVersion":1,"reservoirId":"a","reservoirVersion":3}', "Delta"),
        ('{"version":1,"snapshot_id":3,"position":0}', "Iceberg"),
        ('{"offset":5,"timestamp":7}', "unknown source"),
        ('{"a":{}}', "unknown source"),
        ("{}", "unknown source"),
        ("[1]", "unknown source"),
        ("{", "not JSON"),
    ],
)
def test_a_source_that_is_not_kafka(spark: SparkDirectory, line: str, word: str):
    spark.batches(offsets=[0], commits=[0])
    kafka = json.dumps({"orders": {"0": 1}})
    for lines, number in (([line], 0), ([kafka, line], 1)):
        spark.write("offsets/0", "\n".join([*offsets_text().split("\n"), *lines]))
        error = refused(spark)
        assert f"Source {number} of the query" in error.what
        assert word in error.what


def test_a_source_without_offsets_yet_is_no_other_source():
    assert describe_other_source("-") is None
    assert describe_other_source('{"orders":{"0":1,"1":2},"paid":{"0":0}} ') is None


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda spark: (spark.root / "metadata").unlink(), "metadata is missing"),
        (lambda spark: (spark.root / "offsets" / "1").unlink(), "offsets/1 is missing"),
        (lambda spark: (spark.root / "commits" / "0").unlink(), "commits/0 is missing"),
        (lambda spark: spark.write("commits/1", "v1"), "commits/1 is not an entry"),
        (lambda spark: spark.write("offsets/2", "v1\n{"), "offsets/2 is not an entry"),
        (lambda spark: spark.write("offsets/1", offsets_text({"orders": ends(9)})), "is behind offsets/1"),
    ],
)
def test_a_damaged_directory(spark: SparkDirectory, damage: Callable[[SparkDirectory], None], word: str):
    spark.batches(offsets=range(3), commits=range(3))
    (spark.root / "commits" / ".2.crc").unlink(missing_ok=True)
    damage(spark)
    if word == "commits/0 is missing":
        # The oldest commit may be purged; one in the middle may not.
        spark.write("commits/0", 'v1\n{"nextBatchWatermarkMs":0}')
        (spark.root / "commits" / "1").unlink()
        word = "commits/1 is missing"
    assert word in refused(spark).what


def test_a_query_that_goes_on_is_noticed(spark: SparkDirectory):
    spark.batches(offsets=range(2), commits=range(2))
    found = inspect_checkpoint(spark.store)
    require_unchanged(spark.store, found)
    spark.write("offsets/.2.4711.tmp", "v1")
    with pytest.raises(PreflightError, match="A query is still running") as raised:
        require_unchanged(spark.store, found)
    assert "Stop the query, wait" in raised.value.fix
