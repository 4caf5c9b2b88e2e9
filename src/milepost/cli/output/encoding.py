"""Replaces characters that the encoding of a terminal lacks, so that printing never fails."""

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


def replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Return the ASCII equivalent of characters that the encoding lacks, or an escape sequence."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _escape(each) for each in characters), error.end


def wants_ascii(environment: Mapping[str, str]) -> bool:
    """Return whether the user has set the C locale, for which Python itself still uses UTF-8."""
    chosen = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG")
    is_overridden = environment.get("PYTHONIOENCODING") or environment.get("PYTHONUTF8") == "1"
    return chosen in ("C", "POSIX") and not is_overridden


def configure_encoding() -> None:
    """Make stdout and stderr accept every text, in the encoding of the user's locale."""
    codecs.register_error(ERRORS, replace_unencodable)
    encoding = "ascii" if wants_ascii(os.environ) else None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors=ERRORS)


def _escape(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode("ascii")
