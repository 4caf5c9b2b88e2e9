"""Which operators of a query keep state, as Spark will number them when the query runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from milepost.checkpoint.store.operators import recorded_operators
from milepost.checkpoint.store.store import LocalStore
from milepost.engine import jvm


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    return rows.withWatermark("timestamp", "1 second")


def planned(rows: DataFrame) -> list[str]:
    return list(jvm(rows.sparkSession).io.milepost.plan.StatefulPlan.operators(rows._jdf))


def test_a_query_without_state_has_none(stream: DataFrame):
    assert planned(stream.filter("value > 3")) == []


def test_they_are_numbered_as_the_directory_of_the_running_query_has_them(stream: DataFrame, tmp_path: Path):
    left = stream.dropDuplicates(["value", "timestamp"])
    right = stream.select(F.col("value").alias("other"), F.col("timestamp").alias("at"))
    joined = left.join(
        right, F.expr("value = other AND at BETWEEN timestamp AND timestamp + INTERVAL 1 SECOND")
    )
    rows = joined.groupBy(F.window("timestamp", "2 seconds")).agg(F.count("*").alias("n"))
    found = planned(rows)
    assert sorted(found) == ["dedupe", "stateStoreSave", "symmetricHashJoin"]
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(60)
    finally:
        query.stop()
    assert list(recorded_operators(LocalStore(tmp_path))) == found
