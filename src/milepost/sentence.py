"""Text for people: parts joined as sentences, and the one line of a JVM's message that a person needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FRAMES = re.compile(r"\s+(?:at [\w.$/]+\(|\.\.\. \d+ (?:more|common frames))|\s*Driver stacktrace:")
_STAGE = re.compile(r"^.*?Job aborted due to stage failure: .*?\(TID \d+\)(?: \([^)]*\))?: ", re.DOTALL)
_QUALIFIED = re.compile(r"\b(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Failure)(?:: |:?$|(?=\s))")
_SIMPLE = re.compile(r"^(?:[A-Z][\w$]*(?:Exception|Error): )+")
_ERROR_CLASS = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] ?")
_SQL_STATE = re.compile(r"\s*\(?SQLSTATE: [0-9A-Z]{5}\)?")
_NAME = re.compile(r"[\w$]*(?:Exception|Error|Failure)\b")
# A key, a path or a name in quotes stays as it is written.
_PLAIN_WORD = re.compile(r"[a-z]+(?=[\s,;]|'s\b|$)")


def joined(parts: Iterable[str]) -> str:
    """Return the parts that are present as sentences on one line, each with its capital and its full stop."""
    first, *more = [part.strip() for part in parts if part.strip()] or [""]
    return " ".join(_ended(part) for part in [first, *map(capitalized, more)]) if first else ""


def capitalized(text: str) -> str:
    """Return the text with a capital where it begins with a plain word."""
    return text[0].upper() + text[1:] if _PLAIN_WORD.match(text) else text


def plain(message: str) -> str:
    """Return the first line of a JVM's message without class names, error classes, SQL states and stack frames."""
    text = _FRAMES.split(_STAGE.sub("", message), maxsplit=1)[0]
    words = next(filter(None, map(without_codes, text.splitlines())), "")
    if words:
        return words
    name = _NAME.search(message)
    return name[0] if name else "no reason was given"


def without_codes(line: str) -> str:
    """Return what a person can read of a JVM's line; nothing where it only names a class."""
    text = _QUALIFIED.sub("", _SQL_STATE.sub("", line))
    text = _SIMPLE.sub("", _ERROR_CLASS.sub("", text).strip()).strip()
    return "" if text in ("null", "None") or _NAME.fullmatch(text) else text


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
