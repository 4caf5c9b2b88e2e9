"""Reads the raw cells of an HBase table, every version and every delete marker, as plain tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from milepost.verify.compare import RawCell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# One text per cell: rows of six columns take PySpark five times as long. Nulls are not left out of the text.
_LINE = "concat_ws('\t', hex(row), family, {qualifier}, string(version), type, {value})".format(
    qualifier="coalesce(hex(qualifier), '')", value="coalesce(hex(value), '')"
)


def raw_cells(spark: SparkSession, options: Mapping[str, str]) -> Iterator[RawCell]:
    """Yield the cells region by region in HBase's order, so that a row's cells come one after the other."""
    # A region at a time is in memory: the table may be larger than this process.
    for (line,) in _cells(spark, options).selectExpr(_LINE).toLocalIterator(prefetchPartitions=True):
        yield parse_line(line)


def cells_of_row(spark: SparkSession, options: Mapping[str, str], row: bytes) -> list[RawCell]:
    """Return the cells of one row, which is all that HBase is asked for."""
    lines = _cells(spark, options).filter(f"row = X'{row.hex()}'").selectExpr(_LINE).collect()
    return [parse_line(line) for (line,) in lines]


def cells_of_version(spark: SparkSession, options: Mapping[str, str], version: int) -> list[RawCell]:
    """Return every cell and marker with this version; HBase passes over files that cannot have it."""
    lines = _cells(spark, options).filter(f"version = {version}").selectExpr(_LINE).collect()
    return [parse_line(line) for (line,) in lines]


def _cells(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("milepost-hbase").options(**options).option("raw", "true").load()


def parse_line(line: str) -> RawCell:
    """Return the cell that one line describes."""
    row, family, qualifier, version, kind, value = line.split("\t")
    return bytes.fromhex(row), family, bytes.fromhex(qualifier), int(version), kind, bytes.fromhex(value)
