"""Makes the participants that a pipeline file names: each name is an object, a class, or a function that makes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from milepost.checkpoint.participants.participant import HOOKS, hooks_of
from milepost.errors import MilepostError, PreflightError

Load = Callable[[str, str], object]
"""Takes `module:name` and the key that it stands at, and returns what has that name."""

_WHY = f"a participant is an object with a hook: {', '.join(HOOKS)}"
_FIX = "Name such an object, its class, or a function without parameters that returns it"


def named_participants(chains: Sequence[str | Sequence[str]], load: Load) -> list[object]:
    """Return the participants in the order of their names; an inner list is a chain."""
    return [
        _participant(chain, f"participants[{index}]", load)
        if isinstance(chain, str)
        else [
            _participant(reference, f"participants[{index}][{place}]", load)
            for place, reference in enumerate(chain)
        ]
        for index, chain in enumerate(chains)
    ]


def _participant(reference: str, key: str, load: Load) -> object:
    named: Any = load(reference, key)
    if not isinstance(named, type) and hooks_of(named):
        return named
    if not callable(named):
        raise PreflightError(f"{key}: {reference} is {_described(named)}", why=_WHY, fix=_FIX)
    made = _called(named, reference, key)
    if isinstance(made, type) or not hooks_of(made):
        what = f"an object of {reference} has no hook"
        if not isinstance(named, type):
            what = f"{reference} returned {_described(made)}"
        raise PreflightError(f"{key}: {what}", why=_WHY, fix=_FIX)
    return made


def _called(maker: Callable[[], object], reference: str, key: str) -> object:
    _require_no_parameters(maker, reference, key)
    try:
        return maker()
    except MilepostError:
        raise
    except Exception as error:
        raise PreflightError(
            f"{key}: {reference} raised {type(error).__name__}",
            why=str(error) or "it was raised without a message",
            fix="Correct what makes the participant",
        ) from error


def _require_no_parameters(maker: Callable[[], object], reference: str, key: str) -> None:
    """Refuse what cannot be called without arguments, before it runs: its own TypeError would look the same."""
    try:
        signature = inspect.signature(maker)
    except (TypeError, ValueError):
        return  # written in C without a signature
    try:
        signature.bind()
    except TypeError as error:
        raise PreflightError(
            f"{key}: {reference} is {_described(maker)}, which needs arguments",
            why=str(error),
            fix="Name an object of it, or a function without parameters that makes one",
        ) from error


def _described(named: object) -> str:
    if isinstance(named, type):
        return f"the class {named.__qualname__}"
    if named is None:
        return "None"
    kind = type(named).__qualname__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
