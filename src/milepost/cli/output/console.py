"""The consoles of a command: results go to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
from typing import IO, cast

from rich.console import Console
from rich.text import Text

from milepost.errors import ConfigError, MilepostError
from milepost.sentence import capitalized

log = logging.getLogger("milepost.run")

# Columns are not cut or wrapped in a file or a pipe.
_IN_A_PIPE = 250


class LogStream:
    """A text stream that writes each line to the log."""

    encoding = "utf-8"

    def __init__(self, logger: logging.Logger, level: int) -> None:
        self._logger = logger
        self._level = level
        self._rest = ""

    def write(self, text: str) -> int:
        """Log every complete line."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip():
                # The lines of a plan include its warnings.
                level = logging.WARNING if line.lstrip().startswith("Warning: ") else self._level
                self._logger.log(level, "%s", line.rstrip())
        return len(text)

    def flush(self) -> None:
        """Do nothing: a line is logged when it is complete."""

    def isatty(self) -> bool:
        """Return False: the log is not a terminal."""
        return False


def _width() -> int | None:
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else _IN_A_PIPE


out = Console(highlight=False, soft_wrap=True, width=_width())
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: Exception) -> None:
    """Print what happened, why, and how to fix it; never a stack trace."""
    if is_logged():
        _log_error(error)
        return
    if not isinstance(error, MilepostError):
        err.print(Text(f"Error: {type(error).__name__}: {error}", style="bold red"))
        err.print(
            Text("This is a bug in Milepost. Run again with `milepost --debug …` and report the stack trace.")
        )
        return
    err.print(Text(f"Error: {error.what}", style="bold red"))
    if isinstance(error, ConfigError):
        for fault in error.faults:
            err.print(Text(f"  - {fault}"))
    if error.why:
        err.print(Text(f"  Why: {capitalized(error.why)}"))
    if error.fix:
        err.print(Text(f"  Fix: {error.fix}", style="green"))


def log_messages() -> None:
    """Write warnings and errors to the log from now on, whose format programs can parse."""
    err.file = cast(IO[str], LogStream(log, logging.WARNING))


def log_all_output() -> None:
    """Write results to the log as well."""
    log_messages()
    out.file = cast(IO[str], LogStream(log, logging.INFO))


def is_terminal() -> bool:
    """Return whether results go to a terminal, also where Rich is forced to assume one."""
    return out.file.isatty()


def is_logged() -> bool:
    """Return whether messages go to the log."""
    return isinstance(err.file, LogStream)


def _log_error(error: Exception) -> None:
    if not isinstance(error, MilepostError):
        log.error("%s: %s", type(error).__name__, error)
        return
    faults = [str(fault) for fault in error.faults] if isinstance(error, ConfigError) else []
    why = "; ".join([*faults, *([error.why] if error.why else [])])
    log.error("%s", error.what, extra={"why": why, "fix": error.fix})
