"""How a watermark stands in Spark's plan: no filter gets below it, the user's column is the event time."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from milepost.config import Watermark
from milepost.errors import PreflightError
from milepost.source import watermark

STRATEGIES: list[dict[str, Any]] = [
    {"strategy": "periodic", "column": "at", "delay": "5s"},
    {"strategy": "punctuated", "column": "at", "when": "kind = 'marker'"},
    {"strategy": "per-partition", "column": "at", "delay": "5s"},
]
EACH = pytest.mark.parametrize("given", STRATEGIES, ids=[str(given["strategy"]) for given in STRATEGIES])


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    stream = spark.readStream.format("rate").load()
    origin = "named_struct('topic', 't', 'partition', 0, 'offset', value) AS _kafka"
    return stream.selectExpr("value AS `an id`", "timestamp AS at", "'data' AS kind", origin)


def applied(records: DataFrame, given: dict[str, Any]) -> DataFrame:
    return watermark.apply(
        records, Watermark(**given), origin="_kafka", partitions={"t": {0: 0}}, clock="a-job/source"
    )


def optimized(rows: DataFrame) -> list[str]:
    # Asked of the optimizer itself: Spark optimizes a stream only when it runs.
    optimizer = rows.sparkSession._jsparkSession.sessionState().optimizer()
    plan = optimizer.execute(rows._jdf.queryExecution().analyzed()).treeString()
    return [line.lstrip(" :+-~") for line in plan.splitlines()]


def is_filtered_below(rows: DataFrame) -> bool:
    """Return whether Spark filters by `an id` before the watermark sees a row."""
    lines = optimized(rows.filter("`an id` > 5").select("at"))
    (mark,) = [number for number, line in enumerate(lines) if line.startswith("EventTimeWatermark")]
    filters = [number for number, line in enumerate(lines) if line.startswith("Filter") and "> 5" in line]
    assert filters, lines
    return max(filters) > mark


@EACH
def test_the_columns_stay_as_they_are(records: DataFrame, given: dict[str, Any]):
    rows = applied(records, given)
    assert rows.columns == records.columns
    assert [field.dataType for field in rows.schema] == [field.dataType for field in records.schema]


@EACH
def test_no_filter_of_the_user_gets_below_the_watermark(records: DataFrame, given: dict[str, Any]):
    assert not is_filtered_below(applied(records, given))


def test_a_filter_gets_below_a_watermark_of_spark_alone(records: DataFrame):
    assert is_filtered_below(records.withWatermark("at", "5 seconds")), "then ours need no barrier either"


@EACH
def test_the_users_column_is_the_event_time(records: DataFrame, given: dict[str, Any]):
    windows = applied(records, given).groupBy(F.window("at", "10 seconds")).count()
    metadata = windows.schema["window"].metadata
    assert "spark.watermarkDelayMs" in metadata


def test_columns_are_found_as_spark_finds_them(records: DataFrame):
    rows = applied(records, {**STRATEGIES[1], "column": "AT"})
    assert rows.columns == records.columns


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({**STRATEGIES[0], "column": "kind"}, "'kind', which is string"),
        ({**STRATEGIES[1], "when": "nope"}, "when cannot be analyzed"),
        ({**STRATEGIES[1], "when": "`an id`"}, "is bigint, not BOOLEAN"),
    ],
)
def test_refused(records: DataFrame, given: dict[str, Any], sentence: str):
    with pytest.raises(PreflightError, match=sentence):
        applied(records, given)
