"""Plain tables and sizes for people, without a line or a sign that some terminal or pipe does not have."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

_UNITS = ("B", "K", "M", "G", "T", "P")


def print_lines(lines: Sequence[str]) -> None:
    """Print to stdout in the encoding that it has; typer would write UTF-8 where that is ASCII."""
    print("\n".join(lines), flush=True)


def tell(line: str) -> None:
    """Print a line for a person to stderr, beside the result."""
    print(line, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print a document for a program."""
    print_lines([json.dumps(document, indent=2)])


def aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str] = ()) -> list[str]:
    """Return a line of headings and one per row; columns named in `left` are texts, the others numbers."""
    lines = [list(headings), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    pads = [str.ljust if heading in left else str.rjust for heading in headings]
    return [
        "  ".join(pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=True)).rstrip()
        for line in lines
    ]


def number(value: int | None) -> str:
    """Return a count with its thousands apart; what is not known is a dash."""
    return "-" if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """Return bytes in at most five letters."""
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
