"""Writes what a terminal cannot show in letters that every terminal has, rather than fail of it."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper

ERRORS = "milepost.plain"

_PLAIN = {
    "…": "...",
    "·": "-",
    "\u2013": "-",
    "\u2014": "-",
    "→": "->",
    "►": ">",
    "✓": "ok",
    "✗": "x",
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d", '"'),
    **dict.fromkeys("─━╌╍", "-"),
    **dict.fromkeys("│┃╎╏", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰╸╺", "+"),
}


def plain(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for letters that an encoding does not have; an escape where nothing is like them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escaped(each) for each in letters), error.end


def wants_ascii(environment: Mapping[str, str]) -> bool:
    """Return whether the user has asked for the C locale, in which Python itself would go on with UTF-8."""
    chosen = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG")
    python_is_told = environment.get("PYTHONIOENCODING") or environment.get("PYTHONUTF8") == "1"
    return chosen in ("C", "POSIX") and not python_is_told


def print_anything() -> None:
    """Let stdout and stderr take every text, in the letters that the user's locale has."""
    codecs.register_error(ERRORS, plain)
    encoding = "ascii" if wants_ascii(os.environ) else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors=ERRORS)


def _escaped(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode("ascii")
