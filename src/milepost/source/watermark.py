"""Puts a source's watermark onto its records: how far event time has come, whatever a transformation filters later."""

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
# The column that Spark's operator looks at where it is not the user's own.
_CARRIER = "_watermark"
# What Spark writes to the column of an event time, and looks for in windows, joins and deduplication.
_DELAY = "spark.watermarkDelayMs"
# Spark moves filters of the user below a watermark where it can: the markers of a punctuated one might then never
# be seen. It moves nothing past a filter that is not deterministic, even if it is always true.
_BARRIER = "spark_partition_id() >= 0"


def apply(
    rows: DataFrame, watermark: Watermark, *, origin: str, partitions: Offsets, clock: str
) -> DataFrame:
    """Return the rows with the watermark; `origin` is the column of their Kafka record, `clock` a name of its own."""
    if watermark.strategy == "none":
        return rows
    column = _require_time(rows, watermark.column or "")
    if watermark.strategy == "periodic":
        return rows.withWatermark(column, _interval(watermark.lateness)).filter(_BARRIER)
    if watermark.strategy == "punctuated":
        # A record that carries no watermark has null here, which the operator takes for 1970: it never moves it.
        carrier = F.when(_require_predicate(rows, watermark.when or ""), F.col(f"`{column}`"))
        return _carried(rows, column, carrier.alias(_CARRIER), watermark.lateness).filter(_BARRIER)
    observed = rows.filter(_observe(rows, column, origin, partitions, clock))
    # Always null, in a way that Spark cannot know: the operator is told the time by the engine.
    nothing = F.when(F.col(f"{origin}.offset") < 0, F.col(f"`{column}`"))
    carrier = nothing.alias(_CARRIER, metadata={"milepost.clock": clock})
    return _carried(observed, column, carrier, watermark.lateness).filter(_BARRIER)


def require_one(rows: DataFrame, key: str) -> None:
    """Refuse a second watermark above the first: Spark would fail the job, but only once the first has moved."""
    if jvm(rows.sparkSession).io.milepost.watermark.WatermarkPlan.isDefinedTwice(rows._jdf):  # noqa: SLF001
        raise PreflightError(
            f"{key} defines a watermark for rows that have one",
            why="Spark allows one watermark per stream",
            fix=f"Remove withWatermark from the transformation, or {_KEY}",
        )


def _carried(rows: DataFrame, column: str, carrier: Column, lateness: timedelta) -> DataFrame:
    """Return the rows with the watermark of the carrier, and the user's column known as its event time."""
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
    watermarks.register(spark._jsparkSession, function, clock, expected)  # noqa: SLF001 - PySpark's door to Java
    return F.expr(f"{function}({origin}.topic, {origin}.partition, unix_millis(`{column}`))")


def _require_time(rows: DataFrame, name: str) -> str:
    """Return the column's name as the records have it; refuse what is no time."""
    column = next((known for known in rows.columns if known.lower() == name.lower()), None)
    if column is None:
        raise PreflightError(
            f"{_KEY}.column names {name!r}, which the records do not have",
            why=f"they have {', '.join(rows.columns)}",
            fix="Name the column of source.kafka.schema that is the event time",
        )
    if not isinstance(rows.schema[column].dataType, TimestampType):
        raise PreflightError(
            f"{_KEY}.column names {column!r}, which is {rows.schema[column].dataType.simpleString()}",
            why="event time is a point in time, a TIMESTAMP",
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
            f"{_KEY}.when is {kind.simpleString()}, not true or false",
            fix="Write a predicate such as kind = 'marker'",
        )
    return predicate


def _interval(lateness: timedelta) -> str:
    return f"{lateness // timedelta(milliseconds=1)} milliseconds"
