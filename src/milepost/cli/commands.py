"""The table of commands; each is imported when it is used, so that only commands that need Spark load it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

RUN = "Run a pipeline"
JOBS = "Running jobs"
CHECKPOINTS = "Checkpoints and savepoints"
INSPECT = "Inspect and verify"
MIGRATE = "Migrate a job"
TRY = "Try it out"


class CommandEntry(NamedTuple):
    """A command as shown by the help and shell completion, before its module is imported."""

    panel: str
    target: str
    """Module and name below milepost.cli: a function is a command, a Typer is a group."""
    summary: str
    """The first paragraph of its help; a test compares the two."""


COMMANDS = {
    "run": CommandEntry(
        RUN,
        "run.run:run",
        "Run the pipeline in FILE; Ctrl-C stops it at the next boundary, a second Ctrl-C immediately.",
    ),
    "check": CommandEntry(
        RUN,
        "run.check:check",
        "Validate FILE, connect to Kafka and HBase, and print the start-up plan; nothing is started.",
    ),
    "list": CommandEntry(JOBS, "control:list_jobs", "List your running jobs on this machine."),
    "status": CommandEntry(
        JOBS, "control:status", "Show the status of JOB: state, restarts, checkpoints, rows and offsets."
    ),
    "cancel": CommandEntry(
        JOBS,
        "control:cancel",
        "Cancel JOB at its next boundary, without a savepoint; it can resume from its newest checkpoint.",
    ),
    "stop": CommandEntry(
        JOBS,
        "control:stop",
        "Stop JOB with a savepoint: the running batch completes, then the savepoint is taken, then the job finishes.",
    ),
    "checkpoint": CommandEntry(
        CHECKPOINTS,
        "inspect.checkpoint:app",
        "Take a checkpoint of a running job; list, show and compare checkpoints.",
    ),
    "savepoint": CommandEntry(
        CHECKPOINTS, "savepoint:app", "Create, list, show, check, repartition and dispose savepoints."
    ),
    "history": CommandEntry(
        CHECKPOINTS,
        "inspect.history:history",
        "Open the dashboard of a checkpoint directory, whether or not its job still runs; needs no Spark.",
    ),
    "rollback": CommandEntry(
        CHECKPOINTS,
        "migrate.rollback:rollback",
        "Roll the job of FILE back to an older checkpoint or a savepoint; a dry run unless --yes is given.",
    ),
    "verify": CommandEntry(
        INSPECT,
        "inspect.verify:verify",
        "Verify that the table of FILE equals the log; exit 4 with examples if it differs.",
    ),
    "offsets": CommandEntry(
        INSPECT,
        "inspect.offsets:offsets",
        "Show the offsets of JOB per partition: checkpoint, group, earliest, latest, lag, drift, time left to restore.",
    ),
    "lineage": CommandEntry(
        INSPECT,
        "inspect.lineage:lineage",
        "Show which record and checkpoint wrote each cell of a row in the table of FILE.",
    ),
    "state": CommandEntry(
        INSPECT,
        "inspect.state:state",
        "Query the state of JOB, a checkpoint directory or a savepoint with SQL; a running job is not affected.",
    ),
    "adopt": CommandEntry(
        MIGRATE,
        "migrate.adopt:adopt",
        "Take over the checkpoint of a plain Spark query that reads Kafka; `run FILE` then resumes where it stopped.",
    ),
    "export": CommandEntry(
        MIGRATE,
        "migrate.export:export",
        "Write the newest completed checkpoint of JOB, running or not, as a checkpointLocation for plain Spark.",
    ),
    "chaos": CommandEntry(
        TRY,
        "chaos:chaos",
        "Run the job of FILE, inject faults from a seeded plan, then verify its table; exit 4 if it differs.",
    ),
    "services": CommandEntry(
        TRY, "services:app", "Run a real Kafka and a real HBase on this machine, for trying and testing."
    ),
    "demo": CommandEntry(
        TRY, "demo:app", "Run a demonstration; it starts what it needs and cleans up afterwards."
    ),
}
"""In the order of the help, grouped by panel."""


class Commands(MutableMapping[str, Any]):
    """The table as a mapping of click commands, each imported on first use."""

    def __init__(self, table: Mapping[str, CommandEntry]) -> None:
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._table[name].target)
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
        """Use the table as the commands of the group."""
        super().__init__(**settings)
        self.commands = Commands(COMMANDS)

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names without importing the commands."""
        return list(COMMANDS)

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        """Return a stub of the command for help and completion; nothing is imported."""
        entry = COMMANDS.get(cmd_name)
        return entry and TyperCommand(cmd_name, help=entry.summary, rich_help_panel=entry.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import and return the command, with the remaining arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and self.commands[name], rest


def _load(name: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    command = getattr(import_module(f"milepost.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        group = typer.main.get_group(command)
        group.name = name
        return group
    single = typer.Typer(add_completion=False)
    single.command(name)(command)
    return typer.main.get_command(single)
