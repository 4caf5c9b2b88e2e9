"""Formats the lineage of a row or a record as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from milepost.cli.output import table
from milepost.errors import NotReachableError
from milepost.inspect.lineage import CellLineage, Origin, RecordLineage, RowTrace
from milepost.inspect.rowkey import format_row_key


def print_row(key: bytes, cells: Sequence[CellLineage], *, as_json: bool) -> None:
    """Print the stored cells of a row; raise an error if there are none."""
    if not cells:
        raise NotReachableError(
            f"The table has no row {format_row_key(key)}",
            why="it was never written, or its delete was compacted away",
            fix="Check the row key; hex:… takes its bytes",
        )
    if as_json:
        table.print_json({"row": format_row_key(key), "cells": [_cell_document(cell) for cell in cells]})
    else:
        table.print_lines(row_lines(key, cells))


def print_record(found: RecordLineage, *, as_json: bool) -> None:
    """Print the rows that a record wrote."""
    if as_json:
        table.print_json(_record_document(found))
    else:
        table.print_lines(record_lines(found))


def row_lines(row: bytes, cells: Sequence[CellLineage]) -> list[str]:
    """Return the lineage of a row as text."""
    lines = [f"Row {format_row_key(row)}: {len(cells)} stored cells and deletes"]
    for cell in cells:
        is_marker = cell.state.name == "MARKER"
        name = f"{cell.family}:{_name(cell.qualifier) or '*'}"
        value = " deleted" if is_marker else f" = {_value(cell.value)}"
        lines += ["", f"{name}{value}", f"  {cell.state.name}, version {cell.version}"]
        lines += [f"  {_origin(origin)}" for origin in cell.origins]
        lines += [f"  {cell.note}"] if cell.note else []
    return lines


def record_lines(found: RecordLineage) -> list[str]:
    """Return the lineage of a record as text."""
    topic, partition, offset = found.spot
    when = "" if found.time_ms is None else f" of {_time(found.time_ms)}"
    lines = [f"Record {topic}:{partition}:{offset}{when}, {found.coverage}"]
    lines += [f"  {found.note}"] if found.note else []
    for row in found.rows:
        lines += ["", *_trace_lines(row)]
    return lines


def _trace_lines(row: RowTrace) -> list[str]:
    what = "deleted" if row.is_delete else "wrote"
    lines = [f"{what} row {format_row_key(row.row)}, version {row.version}"]
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
                "row": format_row_key(row.row),
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
