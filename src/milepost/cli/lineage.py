"""`milepost lineage`: which records wrote a row, or which rows a record went to."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import table
from milepost.cli.arguments import File, Settings
from milepost.cli.checkpoint import Json
from milepost.cli.console import err
from milepost.config import Config, load_config
from milepost.errors import NotReachableError, PreflightError
from milepost.inspect.lineage import CellLineage, Lineage, Origin, RecordLineage, RowTrace
from milepost.inspect.rowkey import row_key, shown
from milepost.inspect.trail import lineage_of, mapping_or_none

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RowKey = Annotated[
    str | None,
    typer.Argument(
        metavar="[ROW_KEY]",
        help='The value of its column, a JSON list of several, such as ["ann", 7], or its bytes as hex:616e6e.',
    ),
]
Offset = Annotated[
    str | None,
    typer.Option("--offset", metavar="TOPIC:PARTITION:OFFSET", help="The record, in place of a row."),
]


def lineage(
    file: File,
    row: RowKey = None,
    offset: Offset = None,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show for every cell of a row of FILE's table which record and which checkpoint wrote it.

    With --offset the other way: which rows a record went to, and what has become of its cells.
    """
    if (row is None) == (offset is None):
        raise PreflightError(
            "Name a row key or --offset, one of the two", fix="milepost lineage FILE ROW_KEY"
        )
    config = load_config(file, settings or [])
    spot = None if offset is None else parse_spot(offset)
    key = None if row is None else row_key(row, mapping_or_none(config))
    with _session(config) as spark:
        trail = lineage_of(config, spark)
        if spot is not None:
            _print_record(trail.of_record(spot), as_json=as_json)
        elif key is not None:
            _print_row(trail, key, as_json=as_json)


def parse_spot(text: str) -> tuple[str, int, int]:
    """Return topic, partition and offset; a topic's name may have neither a colon nor a blank."""
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise PreflightError(
            f"{text!r} is no record", fix="Write it as topic:partition:offset, such as orders:0:42"
        )
    return topic, int(partition), int(offset)


def row_lines(row: bytes, cells: Sequence[CellLineage]) -> list[str]:
    """Return the lineage of a row as a person reads it."""
    lines = [f"Row {shown(row)}: {len(cells)} stored cells and deletes"]
    for cell in cells:
        is_marker = cell.state.name == "MARKER"
        name = f"{cell.family}:{_name(cell.qualifier) or '*'}"
        value = " deleted" if is_marker else f" = {_value(cell.value)}"
        lines += ["", f"{name}{value}", f"  {cell.state.name}, version {cell.version}"]
        lines += [f"  {_origin(origin)}" for origin in cell.origins]
        lines += [f"  {cell.note}"] if cell.note else []
    return lines


def record_lines(found: RecordLineage) -> list[str]:
    """Return the lineage of a record as a person reads it."""
    topic, partition, offset = found.spot
    when = "" if found.time_ms is None else f" of {_time(found.time_ms)}"
    lines = [f"Record {topic}:{partition}:{offset}{when}, {found.coverage}"]
    lines += [f"  {found.note}"] if found.note else []
    for row in found.rows:
        lines += ["", *_trace_lines(row)]
    return lines


def _print_row(trail: Lineage, key: bytes, *, as_json: bool) -> None:
    cells = trail.of_row(key)
    if not cells:
        raise NotReachableError(
            f"There is no row {shown(key)} in the table",
            why="it was never written, or its delete was compacted away",
            fix="Check the row key; hex:… gives its bytes",
        )
    if as_json:
        table.print_json({"row": shown(key), "cells": [_cell_document(cell) for cell in cells]})
    else:
        table.print_lines(row_lines(key, cells))


def _print_record(found: RecordLineage, *, as_json: bool) -> None:
    if as_json:
        table.print_json(_record_document(found))
    else:
        table.print_lines(record_lines(found))


def _trace_lines(row: RowTrace) -> list[str]:
    what = "deleted" if row.is_delete else "wrote"
    lines = [f"{what} row {shown(row.row)}, version {row.version}"]
    if row.is_delete and not row.columns:
        lines.append("  its marker is no longer stored")
    for column in row.columns:
        lines.append(
            f"  {column.family}:{_name(column.qualifier)} {column.state.name} ({column.state.value})"
        )
        if column.by is not None and column.state.name in ("COVERED", "DELETED"):
            first = next(iter(column.by.origins), None)
            lines.append(f"    by version {column.by.version}")
            lines += [] if first is None else [f"    {_origin(first)}"]
    return lines


def _origin(origin: Origin) -> str:
    topic, partition, offset, generation = origin.place
    when = "" if origin.time_ms is None else f" of {_time(origin.time_ms)}"
    proved = "" if origin.is_proved else " (not proved)"
    return f"{topic}:{partition}:{offset}{when}, {origin.coverage}, generation {generation}{proved}"


def _time(milliseconds: int) -> str:
    return f"{table.moment(datetime.fromtimestamp(milliseconds / 1000, timezone.utc))} UTC"


def _name(qualifier: bytes) -> str:
    return qualifier.decode(errors="backslashreplace")


def _value(value: bytes) -> str:
    text = value.decode("ascii", errors="replace")
    return repr(text) if text.isprintable() and "\ufffd" not in text else f"hex:{value.hex()}"


def _cell_document(cell: CellLineage) -> dict[str, Any]:
    return {
        "family": cell.family,
        "qualifier": _name(cell.qualifier),
        "version": cell.version,
        "state": cell.state.name,
        "value": {"hex": cell.value.hex()},
        "origins": [_origin_document(origin) for origin in cell.origins],
        "note": cell.note,
    }


def _origin_document(origin: Origin) -> dict[str, Any]:
    topic, partition, offset, generation = origin.place
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "generation": generation,
        "time-ms": origin.time_ms,
        "checkpoint": origin.coverage.checkpoint_id,
        "certainty": origin.coverage.certainty.name,
        "proved": origin.is_proved,
    }


def _record_document(found: RecordLineage) -> dict[str, Any]:
    topic, partition, offset = found.spot
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "time-ms": found.time_ms,
        "checkpoint": found.coverage.checkpoint_id,
        "certainty": found.coverage.certainty.name,
        "note": found.note,
        "rows": [
            {
                "row": shown(row.row),
                "version": row.version,
                "delete": row.is_delete,
                "columns": [
                    {
                        "family": column.family,
                        "qualifier": _name(column.qualifier),
                        "state": column.state.name,
                        "by": column.by and _cell_document(column.by),
                    }
                    for column in row.columns
                ],
            }
            for row in found.rows
        ],
    }


@contextmanager
def _session(config: Config) -> Iterator[SparkSession]:
    from milepost.job.session import session, spark_conf  # a JVM reads HBase; everything before needs none

    with (
        tempfile.TemporaryDirectory(prefix="milepost-lineage-") as folder,
        err.status("Reading table and log ..."),
    ):
        log = Path(folder) / "driver.log"
        with session("lineage", spark_conf(config.spark.master, config.spark.conf, log), log) as spark:
            yield spark
