"""The operators that keep state, as a checkpoint directory has them, and whether a pipeline still has the same ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import is_entry
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

_UNNAMED = "operator "


def recorded_operators(store: Store) -> tuple[str, ...]:
    """Return the operators as they call themselves, by their number; those of a Spark before 4.0 have no names."""
    numbers = (entry.name for entry in store.entries(names.STATE) if entry.is_folder and is_entry(entry.name))
    return tuple(
        _name(store, f"{names.STATE}/{number}/_metadata") or f"{_UNNAMED}{number}"
        for number in sorted(numbers, key=int)
    )


def require_same_operators(recorded: Sequence[str], planned: Sequence[str], where: str) -> None:
    """Refuse a pipeline whose operators are not those whose state is kept at `where`."""
    same = len(recorded) == len(planned) and all(
        before in (now, f"{_UNNAMED}{number}")
        for number, (before, now) in enumerate(zip(recorded, planned, strict=True))
    )
    if not same:
        raise PreflightError(
            f"The state in {where} is of other operators: it has {_listed(recorded)}, "
            f"and the pipeline has {_listed(planned)}",
            why="Spark restores the state of operators by their number, so none may be added, removed or moved",
            fix="Write the transform with the same aggregations, joins and deduplications in the same order, or run "
            "with --fresh to begin without the state",
        )


def _listed(operators: Sequence[str]) -> str:
    return ", ".join(operators) or "none"


def _name(store: Store, folder: str) -> str | None:
    newer = sorted((name for name in store.names(f"{folder}/v2") if is_entry(name)), key=int)
    name = f"{folder}/v2/{newer[-1]}" if newer else f"{folder}/metadata"
    try:
        document = json.loads(store.read(name).decode().split("\n", 1)[1])
        return str(document["operatorInfo"]["operatorName"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, IndexError):
        return None
