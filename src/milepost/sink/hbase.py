"""DataFrame -> HBase: the columns and options of the Java sink, and the checks before the start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from milepost.checkpoint.store.store import Store
from milepost.config import Checkpointing, HBaseSink
from milepost.config.hbase_sink import VersionColumn
from milepost.engine import BareJvm, java_list, java_map, jvm
from milepost.errors import PreflightError
from milepost.sink import table
from milepost.sink.bulk_load import bulk_load_options
from milepost.sink.versioning import require_idempotent_writes, table_warnings, version_word
from milepost.sink.writers import Registry

_LONGEST_OPERATION = timedelta(minutes=2)
_MILLISECOND = timedelta(milliseconds=1)


def connection_options(sink: HBaseSink) -> dict[str, str]:
    """Return the options for the connection and the table."""
    options = {key: str(value) for key, value in sink.properties.items()}
    if sink.site is not None:
        options["site"] = sink.site
    else:
        options["quorum"] = ",".join(sink.quorum or ())
    return options | {"table": sink.table}


def connect_options(sink: HBaseSink) -> dict[str, str]:
    """Return the timeout for requests at the start, when a busy machine may be slow."""
    return {"connect-timeout-ms": str(int(sink.connect_timeout / _MILLISECOND))}


def mapping_options(sink: HBaseSink) -> dict[str, str]:
    """Return the mapping of rows to cells; a reader with the same options returns the rows."""
    return connection_options(sink) | {
        "row-key": json.dumps(list(sink.row_key)),
        "salt": str(sink.salt),
        "columns": json.dumps({family: dict(columns) for family, columns in sink.columns.items()}),
        "encoding": sink.encoding,
    }


def write_options(sink: HBaseSink) -> dict[str, str]:
    """Return the options of the sink, except for the job and the bad-record policy."""
    options = mapping_options(sink) | {
        "delete": sink.delete,
        "nulls": sink.nulls,
        "version": version_word(sink),
        "guard": sink.guard,
        "flush.rows": str(sink.flush.rows),
        "flush.bytes": str(sink.flush.bytes),
        "flush.interval-ms": str(int(sink.flush.interval.total_seconds() * 1000)),
    }
    if sink.op is not None:
        options["op"] = sink.op
    return options


def families(sink: HBaseSink) -> frozenset[str]:
    """Return the column families that the job writes."""
    return frozenset(sink.columns)


def operation_timeout_ms(checkpoint_timeout: timedelta) -> int:
    """Return the timeout of the HBase client: shorter than that of a checkpoint, so that it can report the reason."""
    return max(1, int(min(checkpoint_timeout * 0.8, _LONGEST_OPERATION) / _MILLISECOND))


def needs_delete_markers(sink: HBaseSink) -> bool:
    """Return whether delete markers must be kept to hide late writes of older versions.

    With server-time a late write is always the newest; with guard: cas the guard cell has this role.
    """
    return sink.version != "server-time" and sink.guard != "cas"


def needed_columns(sink: HBaseSink) -> dict[str, str]:
    """Return each column that the sink reads, with the key that names it."""
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
    """Return the columns that the sink reads; refuse missing columns."""
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
            f"sink.hbase.version is {sink.version}, but a row does not correspond to a single record",
            why="after an aggregation, a join of streams or a typed Python function a row has no single Kafka record",
            fix="Use version: checkpoint (micro-batch) or {column: name}, or keep the column "
            f"{origin} in the transformation",
        )
    chosen = [_column(name, origin) for name in needed_columns(sink)]
    return rows.select(*chosen, *([F.col(origin)] if has_origin else []))


def _column(name: str, origin: str) -> Column:
    if name.startswith(f"{origin}."):
        return F.col(name).alias(name)
    return F.col(f"`{name}`")


@dataclass(frozen=True, slots=True)
class HBaseStage:
    """An HBase table as the sink of a pipeline."""

    sink: HBaseSink
    checkpointing: Checkpointing
    job: str
    table_exists: bool = False
    warnings: tuple[str, ...] = ()
    registry: Registry = field(default_factory=Registry)
    """The jobs that write the table; filled by `inspect`."""

    format = "milepost-hbase"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the row key."""
        return self.sink.row_key

    @property
    def nulls(self) -> str:
        """How nulls are written."""
        return self.sink.nulls

    def inspect(self, spark: SparkSession | BareJvm) -> HBaseStage:
        """Inspect the table, and refuse one that the job cannot write."""
        sink, found = self.sink, table_facts(spark, self.sink)
        if found.exists or sink.create_table is None:
            table.require_usable(sink.table, found, families(sink))
            if sink.guard == "none":
                require_idempotent_writes(sink.table, found, families(sink), version_word(sink))
        elif not found.namespace_exists:
            table.require_usable(sink.table, found, families(sink))
        warnings = tuple(_warnings(sink, found))
        return replace(self, table_exists=found.exists, warnings=warnings, registry=found.registry)

    @property
    def guarded_table(self) -> str | None:
        """The table if it is written with guard: cas, where cells carry the time of the write."""
        return self.sink.table if self.sink.guard == "cas" else None

    def require_guard_kept(self, before: Mapping[str, Any] | None) -> None:
        """Refuse to write a guarded table without the guard; `before` is the plan of the last start."""
        table_name = self.sink.table
        if self.guarded_table is None and before is not None and before.get("guarded-table") == table_name:
            raise PreflightError(
                f"Table {table_name!r} was written with guard: cas and cannot be written without it",
                why="its cells carry the time of the write, which would hide all versions that are written later",
                fix="Set sink.hbase.guard back to cas, or use another sink.hbase.table",
            )

    def select(self, rows: DataFrame, origin: str) -> DataFrame:
        """Return the columns that the sink reads; refuse missing columns."""
        return select(rows, self.sink, origin)

    def options(self) -> dict[str, str]:
        """Return all options of the sink."""
        return (
            write_options(self.sink)
            | bulk_load_options(self.sink, self.checkpointing, self.job)
            | self.client_options()
        )

    def client_options(self) -> dict[str, str]:
        """Return the connection options of the running job, with the operation timeout."""
        timeout = operation_timeout_ms(self.checkpointing.timeout)
        return connection_options(self.sink) | {"operation-timeout-ms": str(timeout)}

    def require_writable(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Refuse rows whose types the sink cannot write with these options."""
        spark, schema = rows.sparkSession, rows._jdf.schema()  # noqa: SLF001 - PySpark has no public access to Java
        fault = jvm(spark).io.milepost.hbase.write.WriteCheck.fault(java_map(spark, options), schema)
        if fault is not None:
            raise PreflightError(
                "The rows cannot be written as configured in sink.hbase",
                why=fault,
                fix="Correct sink.hbase, or the types in the schema or the transformation",
            )

    def prepare(self, spark: SparkSession) -> None:
        """Create the table if it does not exist and create-table is set."""
        sink = self.sink
        if self.table_exists or sink.create_table is None:
            return
        names = java_list(spark, sorted(families(sink)))
        options = java_map(spark, mapping_options(sink) | connect_options(sink))
        inspector = jvm(spark).io.milepost.hbase.table.HBaseInspector
        answer = inspector.createTable(
            options, names, java_map(spark, _settings(sink)), sink.create_table.regions
        )
        table.require_created(sink.table, answer, where(sink))

    def summary(self) -> str:
        """Return the table and the mapping."""
        sink = self.sink
        regions = (
            ""
            if self.table_exists or sink.create_table is None
            else f" (will be created with {sink.create_table.regions} regions)"
        )
        return (
            f"into table {sink.table}{regions}, row key {', '.join(sink.row_key)}, "
            f"version {version_word(sink)}, encoding {sink.encoding}"
            + (", guard cas" if sink.guard == "cas" else "")
        )

    def participant(self, spark: SparkSession, job_id: str, store: Store) -> None:
        """Return None: acknowledged rows are in the table, and writing them again changes nothing."""


def _warnings(sink: HBaseSink, found: table.TableFacts) -> Iterator[str]:
    if found.exists and needs_delete_markers(sink):
        yield from table.marker_warnings(sink.table, found, families(sink))
    if found.exists and sink.guard == "none":
        yield from table_warnings(sink.table, found, families(sink), version_word(sink))


def _settings(sink: HBaseSink) -> dict[str, str]:
    """Return the settings for the families of a table that Milepost creates."""
    return {table.PURGE_DELETES_AFTER: str(table.FOR_EVER_MS)} if needs_delete_markers(sink) else {}


def table_facts(spark: SparkSession | BareJvm, sink: HBaseSink) -> table.TableFacts:
    """Return the facts about the table of the sink."""
    options = java_map(spark, connection_options(sink) | connect_options(sink))
    return table.parse_facts(jvm(spark).io.milepost.hbase.table.HBaseInspector.describe(options), where(sink))


def where(sink: HBaseSink) -> str:
    """Return the address of HBase, for messages."""
    return sink.site if sink.site is not None else ",".join(sink.quorum or ())
