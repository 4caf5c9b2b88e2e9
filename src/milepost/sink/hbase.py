"""DataFrame -> the Java sink: which columns it takes and which options it gets."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from milepost.config import HBaseSink
from milepost.config.sink import VersionColumn
from milepost.errors import PreflightError


def connection_options(sink: HBaseSink) -> dict[str, str]:
    """Return how HBase is reached and which table is meant."""
    options = {key: str(value) for key, value in sink.properties.items()}
    if sink.site is not None:
        options["site"] = sink.site
    else:
        options["quorum"] = ",".join(sink.quorum or ())
    return options | {"table": sink.table}


def mapping_options(sink: HBaseSink) -> dict[str, str]:
    """Return how a row becomes cells; a reader with the same options gets the rows back."""
    return connection_options(sink) | {
        "row-key": json.dumps(list(sink.row_key)),
        "salt": str(sink.salt),
        "columns": json.dumps({family: dict(columns) for family, columns in sink.columns.items()}),
        "encoding": sink.encoding,
    }


def write_options(sink: HBaseSink) -> dict[str, str]:
    """Return everything the sink is told, but for the job and the bad-record policy."""
    options = mapping_options(sink) | {
        "delete": sink.delete,
        "nulls": sink.nulls,
        "version": version_word(sink),
        "flush.rows": str(sink.flush.rows),
        "flush.bytes": str(sink.flush.bytes),
        "flush.interval-ms": str(int(sink.flush.interval.total_seconds() * 1000)),
    }
    if sink.op is not None:
        options["op"] = sink.op
    return options


def families(sink: HBaseSink) -> frozenset[str]:
    """Return the column families the job writes."""
    return frozenset(sink.columns)


def version_word(sink: HBaseSink) -> str:
    """Return the version as the sink spells it."""
    return f"column:{sink.version.column}" if isinstance(sink.version, VersionColumn) else sink.version


def needed_columns(sink: HBaseSink) -> dict[str, str]:
    """Return each column the sink reads, with the key that names it."""
    needed: dict[str, str] = {}
    for column in sink.row_key:
        needed.setdefault(column, "sink.hbase.row-key")
    for family, columns in sink.columns.items():
        for column in columns.values():
            needed.setdefault(column, f"sink.hbase.columns.{family}")
    if sink.op is not None:
        needed.setdefault(sink.op, "sink.hbase.op")
    if isinstance(sink.version, VersionColumn):
        needed.setdefault(sink.version.column, "sink.hbase.version.column")
    return needed


def select(rows: DataFrame, sink: HBaseSink, origin: str) -> DataFrame:
    """Return just what the sink reads, or refuse columns that are not there."""
    has_origin = origin in rows.columns
    missing = {
        column: key
        for column, key in needed_columns(sink).items()
        if column not in rows.columns and not (has_origin and column.startswith(f"{origin}."))
    }
    if missing:
        raise PreflightError(
            "; ".join(f"{key} names the column {column!r}" for column, key in missing.items())
            + ", which the rows do not have",
            why=f"they have {', '.join(column for column in rows.columns if column != origin)}",
            fix="Correct the mapping, or add the column to the transformation",
        )
    if not has_origin and sink.version in ("offset", "timestamp"):
        raise PreflightError(
            f"sink.hbase.version is {sink.version}, but the rows do not come from one record each",
            why="an aggregation, a join of streams or a typed Python function leaves no single Kafka record per row",
            fix="Use version: checkpoint (micro-batch) or {column: name}, or keep the column "
            f"{origin} in the transformation",
        )
    chosen = [_column(name, origin) for name in needed_columns(sink)]
    return rows.select(*chosen, *([F.col(origin)] if has_origin else []))


def _column(name: str, origin: str) -> Column:
    if name.startswith(f"{origin}."):
        return F.col(name).alias(name)
    return F.col(f"`{name}`")
