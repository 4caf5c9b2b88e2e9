"""`milepost rollback`: sets a job back to an older checkpoint or a savepoint, its table with it."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from milepost.cli.arguments import File, Settings
from milepost.cli.console import err, out
from milepost.cli.plan import opened
from milepost.config import load_config
from milepost.job.rollback import COMMAND, RollBack, inspect

To = Annotated[
    str,
    typer.Option(
        "--to", metavar="checkpoint:N|SAVEPOINT", help="Where to go back to: checkpoint:7, or a path."
    ),
]
KeepTable = Annotated[
    bool,
    typer.Option(
        "--keep-table", help="Leave the table as it is; what is read again is written over its rows."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it. Without it nothing is changed: this is a dry run.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, also beside --yes.")]


def rollback(
    file: File,
    to: To,
    settings: Settings = None,
    keep_table: KeepTable = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Set the job of FILE back; says first what can be brought back and what cannot, and needs --yes to do it."""
    config = load_config(file, settings or [])
    with opened(config, file.parent) as recipe:
        with err.status("Looking at the checkpoint, the log and the table …"):
            found = inspect(recipe, to, keep_table=keep_table).looked()
        for line in described(found):
            out.print(line, markup=False)
        if not yes or dry_run:
            out.print("Nothing was changed. Run it again with --yes to do it.")
            return
        words = [str(file), "--to", to, *(["--keep-table"] if keep_table else []), "--yes"]
        with err.status("Rolling back …"):
            after = found.apply(shlex.join([*COMMAND.split(), *words]))
        if after is not None:
            out.print(f"Looked again: {after.same:,} cells are as they were, {after.lost:,} cannot be.")
        out.print(
            f"Rolled back to {found.boundary.name}. `milepost run {file}` goes on from there.", markup=False
        )


def described(found: RollBack) -> list[str]:
    """Return what a roll back would do, in lines for a person."""
    lines = [f"Back to {found.boundary.name}: {found.records:,} records will be read again."]
    for each in (each for plan in found.starts.values() for each in plan.partitions):
        lines.append(
            f"  {each.topic}-{each.partition}: from {found.ends[each.topic][each.partition]} to {each.offset}"
        )
    if found.table is None:
        return [*lines, "The table, or whatever the sink writes, stays as it is."]
    table = found.table
    lines += [
        f"Table {table.sink.table}: {table.found.rows:,} rows were written since.",
        f"  {table.found.restored:,} cells get their older value back",
        f"  {table.found.removed:,} cells were not there, and go",
        f"  {table.found.same:,} cells are what they were",
        f"  {table.found.lost:,} cells cannot be brought back: HBase may have removed what they were; they stay",
    ]
    return [*lines, *(f"    for example {example}" for example in table.found.examples)]
