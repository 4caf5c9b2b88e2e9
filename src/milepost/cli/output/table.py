"""Formats tables, counts, sizes and times as plain ASCII text."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

_UNITS = ("B", "K", "M", "G", "T", "P")


def print_lines(lines: Sequence[str]) -> None:
    """Print to stdout in its own encoding; typer would write UTF-8 even if that is ASCII."""
    print("\n".join(lines), flush=True)


def print_note(line: str) -> None:
    """Print a line to stderr, separate from the result."""
    print(line, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print a document as JSON."""
    print_lines([json.dumps(document, indent=2)])


def align_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str] = ()
) -> list[str]:
    """Return a heading line and one line per row; the columns in `left` are left-aligned, the others right-aligned."""
    lines = [list(headings), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    pads = [str.ljust if heading in left else str.rjust for heading in headings]
    return [
        "  ".join(pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=True)).rstrip()
        for line in lines
    ]


def number(value: int | None) -> str:
    """Return a count with thousands separators, or a dash for None."""
    return "-" if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """Return a number of bytes in at most five characters."""
    if value is None:
        return "-"
    amount, unit = float(value), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{value}B" if unit == 0 else f"{amount:.{0 if amount >= 99.5 else 1}f}{_UNITS[unit]}"


def moment(value: datetime | None) -> str:
    """Return a time in UTC, to the second."""
    return "-" if value is None else f"{_utc(value):%Y-%m-%d %H:%M:%S}"


def duration(milliseconds: int | None) -> str:
    """Return a time span in one or two units."""
    if milliseconds is None:
        return "-"
    if milliseconds < 0:
        return f"-{duration(-milliseconds)}"
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _utc(value: datetime) -> datetime:
    return value - (value.utcoffset() or timedelta(0))
