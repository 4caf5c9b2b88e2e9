"""Marks a directory whose content is being changed. No job starts on a marked directory.

The marker is written before the first file of a change and removed after the last one, so an interrupted change is
never mistaken for a checkpoint directory.
"""

from __future__ import annotations

import json

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

FORMAT = 1


def begin(store: Store, command: str) -> None:
    """Mark the directory. `command` repeats the change after a crash. The lease must be held."""
    content = {"format": FORMAT, "command": command}
    store.replace(names.UNFINISHED, json.dumps(content).encode() + b"\n")


def end(store: Store) -> None:
    """Remove the marker: the change is complete."""
    store.delete(names.UNFINISHED)


def command(store: Store) -> str | None:
    """Return the command that did not finish, or None if the directory is not marked."""
    try:
        document = json.loads(store.read(names.UNFINISHED))
        return str(document["command"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return ""


def require_finished(store: Store) -> None:
    """Refuse a directory whose change did not finish."""
    begun = command(store)
    if begun is None:
        return
    raise PreflightError(
        f"The content of {store.address('')} is incomplete: `{begun or 'milepost …'}` did not finish",
        why=f"{names.UNFINISHED} records this; the command was interrupted, or is still running",
        fix="Run that command again: it starts over and has the same result",
    )
