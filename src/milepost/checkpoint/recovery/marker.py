"""The mark of a directory whose content is being exchanged: while it is there no job starts on it.

It is written before the first file of such a change and removed after the last one, so that what a death leaves in
between is never taken for a checkpoint directory.
"""

from __future__ import annotations

import json

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

FORMAT = 1


def begin(store: Store, command: str) -> None:
    """Mark the directory; `command` is what a person types to go on after a death. The lease must be held."""
    content = {"format": FORMAT, "command": command}
    store.replace(names.UNFINISHED, json.dumps(content).encode() + b"\n")


def end(store: Store) -> None:
    """Take the mark away: everything is as it shall be."""
    store.delete(names.UNFINISHED)


def command(store: Store) -> str | None:
    """Return which command has not come to its end, or None where there is no mark."""
    try:
        document = json.loads(store.read(names.UNFINISHED))
        return str(document["command"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return ""


def require_finished(store: Store) -> None:
    """Refuse a directory whose change has not come to its end."""
    begun = command(store)
    if begun is None:
        return
    raise PreflightError(
        f"The content of {store.address('')} is not whole: `{begun or 'milepost …'}` has not come to its end",
        why=f"{names.UNFINISHED} in it says so; it ended in the middle, or is still at work",
        fix="Run that command again: it begins anew and does the same",
    )
