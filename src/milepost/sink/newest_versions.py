"""Asks which versions a table holds already, so that what is written next does not hide behind them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from milepost.config import HBaseSink
from milepost.engine import java_list, java_map, jvm
from milepost.errors import PreflightError
from milepost.sink import table
from milepost.sink.hbase import connection_options, families, where

LAST_GENERATION = (1 << 15) - 1


def free_generation(spark: SparkSession, sink: HBaseSink) -> int:
    """Return the lowest generation above every cell and marker of the written families; 0 where there is none."""
    names = java_list(spark, sorted(families(sink)))
    options = java_map(spark, connection_options(sink))
    answer = jvm(spark).io.milepost.hbase.table.TableVersions.freeGeneration(options, names)
    return int(table.answered(answer, where(sink))["free"])


def require_generation(sink: HBaseSink, generation: int) -> None:
    """Refuse a table in which no generation is left."""
    if generation > LAST_GENERATION:
        raise PreflightError(
            f"No version of this job would show in table {sink.table!r}",
            why="it holds cells whose timestamps are at the very end of what HBase can count",
            fix="Write into another table, or use version: timestamp or {column: name}",
        )
