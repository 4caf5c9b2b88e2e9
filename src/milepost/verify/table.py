"""Reads the raw cells of an HBase table, with all versions and delete markers, as plain tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from milepost.verify.compare import RawCell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# One text per cell: rows of six columns take PySpark five times as long. Nulls are kept as empty text.
_LINE = "concat_ws('\t', hex(row), family, {qualifier}, string(version), type, {value})".format(
    qualifier="coalesce(hex(qualifier), '')", value="coalesce(hex(value), '')"
)


def raw_cells(spark: SparkSession, options: Mapping[str, str]) -> Iterator[RawCell]:
    """Yield the cells region by region in the order of HBase, with the cells of a row adjacent."""
    # One region at a time is in memory: the table may be larger than the memory.
    for (line,) in _cells(spark, options).selectExpr(_LINE).toLocalIterator(prefetchPartitions=True):
        yield parse_line(line)


def cells_of_row(spark: SparkSession, options: Mapping[str, str], row: bytes) -> list[RawCell]:
    """Return the cells of one row; only this row is read."""
    lines = _cells(spark, options).filter(f"row = X'{row.hex()}'").selectExpr(_LINE).collect()
    return [parse_line(line) for (line,) in lines]


def cells_of_version(spark: SparkSession, options: Mapping[str, str], version: int) -> list[RawCell]:
    """Return every cell and marker with this version; HBase skips files that cannot contain it."""
    lines = _cells(spark, options).filter(f"version = {version}").selectExpr(_LINE).collect()
    return [parse_line(line) for (line,) in lines]


def _cells(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("milepost-hbase").options(**options).option("raw", "true").load()


def parse_line(line: str) -> RawCell:
    """Return the cell in a line."""
    row, family, qualifier, version, kind, value = line.split("\t")
    return bytes.fromhex(row), family, bytes.fromhex(qualifier), int(version), kind, bytes.fromhex(value)
