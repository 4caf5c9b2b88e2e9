"""The commands by name; each is imported when it is used, so that one that only reads files does not wait for Spark."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "run": "run:run",
    "check": "check:check",
    "list": "control:list_jobs",
    "status": "control:status",
    "cancel": "control:cancel",
    "stop": "control:stop",
    "verify": "verify:verify",
    "checkpoint": "checkpoint:app",
    "offsets": "offsets:offsets",
    "lineage": "lineage:lineage",
    "savepoint": "savepoint:app",
    "state": "state:state",
    "adopt": "adopt:adopt",
    "export": "export:export",
    "rollback": "rollback:rollback",
    "services": "services:app",
    "demo": "demo:app",
}
"""Module and name below milepost.cli: a function is a command, a Typer a group of them. In the order of the help."""


class Commands(MutableMapping[str, Any]):
    """The table as click's commands."""

    def __init__(self, table: dict[str, str]) -> None:
        """Import nothing yet."""
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _command(name, self._table[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class CommandGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        """Take the table in place of commands that are there already."""
        super().__init__(**settings)
        self.commands = Commands(COMMANDS)

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names, without importing what stands behind them."""
        return list(COMMANDS)


def _command(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    what = getattr(import_module(f"milepost.cli.{module}"), attribute)
    if isinstance(what, typer.Typer):
        group = typer.main.get_group(what)
        group.name = name
        return group
    single = typer.Typer(add_completion=False)
    single.command(name)(what)
    return typer.main.get_command(single)
