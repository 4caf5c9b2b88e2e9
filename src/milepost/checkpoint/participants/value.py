"""What a participant may store: JSON values or bytes. Checks and copies; never stores."""

from __future__ import annotations

import json
from typing import Any

from milepost.checkpoint.model import Value
from milepost.errors import ParticipantError

DEEPEST = 100
"""How many lists and objects may lie inside each other; one that holds itself has no end."""
_LONGEST_INT_BITS = 14_000
"""Python refuses to read back an integer of more than 4,300 digits."""

_FIX = "Store None, bool, int, float, str, list and dict with str keys, or bytes alone and not inside of them"


class _Unstorable(Exception):
    """What is wrong, and the steps that lead to it; the steps are put in front on the way out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = ""


def storable(value: Any, what: str, participant: str) -> Value:
    """Return a copy of the value that shares nothing with it, in plain types.

    A tuple becomes a list, and a subclass the type JSON would read back: what is restored equals what is returned here.

    Raises:
        ParticipantError: names the part of `what` that cannot be stored, and why.
    """
    try:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        return _copy(value, DEEPEST)
    except _Unstorable as wrong:
        place = f"at {wrong.path.removeprefix('.')} there is" if wrong.path else "it is"
        raise ParticipantError(
            f"{what} of participant {participant!r} cannot be stored",
            why=f"{place} {wrong.reason}",
            fix=_FIX,
            participants=[participant],
        ) from None


def size_of(value: Value) -> int:
    """Return how many bytes a storable value takes; None takes none."""
    if value is None:
        return 0
    return len(value) if isinstance(value, bytes) else len(json.dumps(value, ensure_ascii=False).encode())


def _copy(value: Any, depth: int) -> Value:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | str):
        return _scalar(value)
    if not isinstance(value, dict | list | tuple):
        raise _Unstorable(_refusal(value))
    if depth == 0:
        raise _Unstorable(f"something {DEEPEST} levels deep, or something that contains itself")
    if isinstance(value, dict):
        return {_key(key): _part(part, key, depth) for key, part in value.items()}
    return [_part(part, index, depth) for index, part in enumerate(value)]


def _part(value: Any, place: str | int, depth: int) -> Value:
    try:
        return _copy(value, depth - 1)
    except _Unstorable as wrong:
        step = f".{_text(place)}" if isinstance(place, str) else f"[{place}]"
        # The path into a value that contains itself is endless; its beginning is enough.
        wrong.path = step + (wrong.path if len(wrong.path) < 200 else wrong.path[:200])
        raise


def _scalar(value: float | str) -> Value:
    """Return a number or a text in its plain type: an enum or a NumPy float is one of them to JSON too."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if value.bit_length() > _LONGEST_INT_BITS:
            raise _Unstorable("an int of more than 4,000 digits")
        return int.__int__(value)
    if value != value or value in (float("inf"), float("-inf")):
        raise _Unstorable(f"{value}, which JSON cannot represent")
    return float.__float__(value)


def _text(value: str) -> str:
    text = str.__str__(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _Unstorable("a str with half a surrogate pair, which is not Unicode text") from None
    return text


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise _Unstorable(f"a dict with the key {key!r:.80}, which JSON would give back as a str")
    return _text(key)


def _refusal(value: Any) -> str:
    kind = type(value).__qualname__
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{kind} inside of something else; bytes are stored only alone"
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}, which is neither JSON nor bytes"
