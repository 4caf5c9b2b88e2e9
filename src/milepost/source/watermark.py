"""Adds the watermark of a source to its records, independent of later filters in the transformation."""

from __future__ import annotations

import re
from datetime import timedelta

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, TimestampType

from milepost.checkpoint.model import Offsets
from milepost.config import Watermark
from milepost.engine import jvm
from milepost.errors import PreflightError
from milepost.sentence import without_codes

_KEY = "source.kafka.watermark"
# The column for Spark's watermark operator if it is not the event-time column.
_CARRIER = "_watermark"
# Metadata key of an event-time column, which windows, joins and deduplication look for.
_DELAY = "spark.watermarkDelayMs"
# Spark pushes user filters below a watermark if it can, which could remove the marker records of a punctuated
# watermark. It pushes nothing below a non-deterministic filter, even if that is always true.
_BARRIER = "spark_partition_id() >= 0"


def apply(
    rows: DataFrame, watermark: Watermark, *, origin: str, partitions: Offsets, clock: str
) -> DataFrame:
    """Return the rows with the watermark; `origin` is the column of their Kafka record, `clock` a unique name."""
    if watermark.strategy == "none":
        return rows
    column = _require_time(rows, watermark.column or "")
    if watermark.strategy == "periodic":
        return rows.withWatermark(column, _interval(watermark.lateness)).filter(_BARRIER)
    if watermark.strategy == "punctuated":
        # Null for records without a watermark: the operator reads it as 1970, which never advances the watermark.
        carrier = F.when(_require_predicate(rows, watermark.when or ""), F.col(f"`{column}`"))
        return _with_carrier(rows, column, carrier.alias(_CARRIER), watermark.lateness).filter(_BARRIER)
    observed = rows.filter(_observe(rows, column, origin, partitions, clock))
    # Always null, but Spark cannot infer it: the engine sets the time of the operator.
    nothing = F.when(F.col(f"{origin}.offset") < 0, F.col(f"`{column}`"))
    carrier = nothing.alias(_CARRIER, metadata={"milepost.clock": clock})
    return _with_carrier(observed, column, carrier, watermark.lateness).filter(_BARRIER)


def require_one(rows: DataFrame, key: str) -> None:
    """Refuse a second watermark on the same rows: Spark would fail the job only after the first has advanced."""
    if jvm(rows.sparkSession).io.milepost.watermark.WatermarkPlan.isDefinedTwice(rows._jdf):  # noqa: SLF001
        raise PreflightError(
            f"{key} defines a watermark for rows that already have one",
            why="Spark allows one watermark per stream",
            fix=f"Remove withWatermark from the transformation, or {_KEY}",
        )


def _with_carrier(rows: DataFrame, column: str, carrier: Column, lateness: timedelta) -> DataFrame:
    """Return the rows with the watermark of the carrier column; the event-time column keeps its metadata."""
    milliseconds = lateness // timedelta(milliseconds=1)
    names = rows.columns
    marked = rows.select("*", carrier).withWatermark(_CARRIER, _interval(lateness))
    event_time = F.col(f"`{column}`").alias(column, metadata={_DELAY: milliseconds})
    return marked.select(*[event_time if name == column else F.col(f"`{name}`") for name in names])


def _observe(rows: DataFrame, column: str, origin: str, partitions: Offsets, clock: str) -> Column:
    spark = rows.sparkSession
    function = "milepost_observe_" + re.sub(r"\W", "_", clock)
    expected = jvm(spark).java.util.ArrayList()
    for topic, numbers in partitions.items():
        for number in numbers:
            expected.add(f"{topic}-{number}")
    watermarks = jvm(spark).io.milepost.watermark.PartitionWatermarks
    watermarks.register(spark._jsparkSession, function, clock, expected)  # noqa: SLF001 - PySpark has no public access to Java
    return F.expr(f"{function}({origin}.topic, {origin}.partition, unix_millis(`{column}`))")


def _require_time(rows: DataFrame, name: str) -> str:
    """Return the name of the column as in the records; refuse a column that is not a TIMESTAMP."""
    column = next((known for known in rows.columns if known.lower() == name.lower()), None)
    if column is None:
        raise PreflightError(
            f"{_KEY}.column names {name!r}, which the records do not have",
            why=f"they have {', '.join(rows.columns)}",
            fix="Name the column of source.kafka.schema that holds the event time",
        )
    if not isinstance(rows.schema[column].dataType, TimestampType):
        raise PreflightError(
            f"{_KEY}.column names {column!r}, which is {rows.schema[column].dataType.simpleString()}",
            why="the event time must be a TIMESTAMP",
            fix=f"Declare {column} as TIMESTAMP in source.kafka.schema",
        )
    return column


def _require_predicate(rows: DataFrame, text: str) -> Column:
    predicate = F.expr(text)
    try:
        kind = rows.select(predicate).schema[0].dataType
    except AnalysisException as error:
        reason = without_codes(" ".join((error.getMessage() or str(error)).split(";\n")[0].split()))[:500]
        raise PreflightError(
            f"{_KEY}.when cannot be analyzed",
            why=reason,
            fix=f"Write a predicate over {', '.join(rows.columns)}",
        ) from error
    if not isinstance(kind, BooleanType):
        raise PreflightError(
            f"{_KEY}.when is {kind.simpleString()}, not BOOLEAN",
            fix="Write a predicate such as kind = 'marker'",
        )
    return predicate


def _interval(lateness: timedelta) -> str:
    return f"{lateness // timedelta(milliseconds=1)} milliseconds"
