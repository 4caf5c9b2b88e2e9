"""The commands by name; each is imported when it is used, so that one that only reads files does not wait for Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

RUNNING = "Run a pipeline"
CONTROL = "Running jobs"
STORED = "Checkpoints and savepoints"
PROOF = "Look and prove"
MOVING = "Move a job"
PLAYING = "Try it out"


class Listed(NamedTuple):
    """A command as the help and the shell's completion know it, before its module is imported."""

    panel: str
    place: str
    """Module and name below milepost.cli: a function is a command, a Typer a group of them."""
    summary: str
    """The first sentence of its own help; a test compares the two."""


COMMANDS = {
    "run": Listed(
        RUNNING,
        "run.run:run",
        "Run the pipeline in FILE; Ctrl-C stops it at the next boundary, a second Ctrl-C at once.",
    ),
    "check": Listed(
        RUNNING,
        "run.check:check",
        "Validate FILE, reach Kafka and HBase, and print the start-up plan; nothing is started.",
    ),
    "list": Listed(CONTROL, "control:list_jobs", "List your running jobs on this machine."),
    "status": Listed(
        CONTROL, "control:status", "Show how JOB does: state, restarts, checkpoints, rows and offsets."
    ),
    "cancel": Listed(
        CONTROL,
        "control:cancel",
        "Cancel JOB at its next boundary, without a savepoint; it can be started again from its newest checkpoint.",
    ),
    "stop": Listed(
        CONTROL,
        "control:stop",
        "Stop JOB with a savepoint: the running batch completes, then the savepoint is taken, then the job finishes.",
    ),
    "checkpoint": Listed(
        STORED,
        "inspect.checkpoint:app",
        "Take a checkpoint of a running job; look into those of a job or of a directory.",
    ),
    "savepoint": Listed(STORED, "savepoint:app", "Savepoints: create, list, show, check and dispose."),
    "history": Listed(
        STORED,
        "inspect.history:history",
        "Open the dashboard of a checkpoint directory, whether or not its job still runs; needs no Spark.",
    ),
    "rollback": Listed(
        STORED,
        "migrate.rollback:rollback",
        "Set the job of FILE back; says first what can be brought back and what cannot, and needs --yes to do it.",
    ),
    "verify": Listed(
        PROOF,
        "inspect.verify:verify",
        "Prove that the table of FILE equals the log; exit 4 with examples where it does not.",
    ),
    "offsets": Listed(
        PROOF,
        "inspect.offsets:offsets",
        "Show per partition of JOB: checkpoint, group, earliest, latest, lag, drift, and how long it is restorable.",
    ),
    "lineage": Listed(
        PROOF,
        "inspect.lineage:lineage",
        "Show for every cell of a row of FILE's table which record and which checkpoint wrote it.",
    ),
    "state": Listed(
        PROOF,
        "inspect.state:state",
        "Ask the state of JOB, of a directory of checkpoints or of a savepoint; a running job is not disturbed.",
    ),
    "adopt": Listed(
        MOVING,
        "migrate.adopt:adopt",
        "Take over the checkpoint of a plain Spark query that reads Kafka; `run FILE` then goes on where it stopped.",
    ),
    "export": Listed(
        MOVING,
        "migrate.export:export",
        "Write the newest completed checkpoint of JOB, running or not, as a checkpointLocation of plain Spark.",
    ),
    "chaos": Listed(
        PLAYING,
        "chaos:chaos",
        "Run the job of FILE, hurt it by a plan that the seed gives, then prove its table; exit 4 where it differs.",
    ),
    "services": Listed(
        PLAYING, "services:app", "A real Kafka and a real HBase on this machine, to play and to test with."
    ),
    "demo": Listed(
        PLAYING, "demo:app", "Demonstrations that start what they need and clean up after themselves."
    ),
}
"""In the order of the help: panel by panel."""


class Commands(MutableMapping[str, Any]):
    """The table as click's commands."""

    def __init__(self, table: Mapping[str, Listed]) -> None:
        """Import nothing yet."""
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _command(name, self._table[name].place)
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

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """Return what the help and the completion show of a command; nothing is imported for it."""
        listed = COMMANDS.get(cmd_name)
        return listed and TyperCommand(cmd_name, help=listed.summary, rich_help_panel=listed.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command itself, imported now, and what is left of the arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and self.commands[name], rest


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
