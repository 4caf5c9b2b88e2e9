"""Builds error sentences: joins parts, and extracts the relevant line of a JVM message. Pure."""

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
# A key, a path or a quoted name is not capitalized.
_PLAIN_WORD = re.compile(r"[a-z]+(?=[\s,;]|'s\b|$)")


def join_sentences(parts: Iterable[str]) -> str:
    """Return the non-empty parts as sentences on one line, each capitalized and with a full stop."""
    first, *more = [part.strip() for part in parts if part.strip()] or [""]
    return " ".join(_with_full_stop(part) for part in [first, *map(capitalized, more)]) if first else ""


def capitalized(text: str) -> str:
    """Return the text, capitalized if it starts with a plain word."""
    return text[0].upper() + text[1:] if _PLAIN_WORD.match(text) else text


def plain(message: str) -> str:
    """Return the first line of a JVM message without class names, error classes, SQL states and stack frames."""
    text = _FRAMES.split(_STAGE.sub("", message), maxsplit=1)[0]
    words = next(filter(None, map(without_codes, text.splitlines())), "")
    if words:
        return words
    name = _NAME.search(message)
    return name[0] if name else "no reason was given"


def without_codes(line: str) -> str:
    """Return a line of a JVM message without codes; empty if it only names a class."""
    text = _QUALIFIED.sub("", _SQL_STATE.sub("", line))
    text = _SIMPLE.sub("", _ERROR_CLASS.sub("", text).strip()).strip()
    return "" if text in ("null", "None") or _NAME.fullmatch(text) else text


def _with_full_stop(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
