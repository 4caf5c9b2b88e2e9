"""Where words for people go: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.text import Text

from milepost.errors import ConfigError, MilepostError

# In a file or a pipe no column is cut or wrapped: there is no window whose width would matter.
_IN_A_PIPE = 250


def _width() -> int | None:
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else _IN_A_PIPE


out = Console(highlight=False, soft_wrap=True, width=_width())
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: Exception) -> None:
    """Print what happened, why, and how to fix it; never a stack trace."""
    if not isinstance(error, MilepostError):
        err.print(Text(f"Error: {type(error).__name__}: {error}", style="bold red"))
        err.print(
            Text("This is not a mistake of yours. Run again with `milepost --debug …` and report the trace.")
        )
        return
    err.print(Text(f"Error: {error.what}", style="bold red"))
    if isinstance(error, ConfigError):
        for fault in error.faults:
            err.print(Text(f"  - {fault}"))
    if error.why:
        err.print(Text(f"  Why: {error.why}"))
    if error.fix:
        err.print(Text(f"  Fix: {error.fix}", style="green"))
