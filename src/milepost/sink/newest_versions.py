"""Finds the highest versions in a table, so that a job writes above them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from milepost.config import HBaseSink
from milepost.engine import java_list, java_map, jvm
from milepost.errors import PreflightError
from milepost.sink import table
from milepost.sink.hbase import connection_options, families, where

LAST_GENERATION = (1 << 15) - 1


def free_generation(spark: SparkSession, sink: HBaseSink) -> int:
    """Return the lowest generation above every cell and marker of the written families; 0 for an empty table."""
    names = java_list(spark, sorted(families(sink)))
    options = java_map(spark, connection_options(sink))
    answer = jvm(spark).io.milepost.hbase.table.TableVersions.freeGeneration(options, names)
    return int(table.parse_answer(answer, where(sink))["free"])


def require_generation(sink: HBaseSink, generation: int) -> None:
    """Refuse a table without a free generation."""
    if generation > LAST_GENERATION:
        raise PreflightError(
            f"No version of this job would be visible in table {sink.table!r}",
            why="it has cells with the highest timestamps that HBase supports",
            fix="Write into another table, or use version: timestamp or {column: name}",
        )
