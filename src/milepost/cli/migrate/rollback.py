"""`milepost rollback`: rolls a job and its table back to an older checkpoint or a savepoint."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli.argument.arguments import File, Json, Settings
from milepost.cli.output import table as tables

if TYPE_CHECKING:
    from milepost.migrate.rollback import Rollback
    from milepost.migrate.rollback_table import RollbackCounts

To = Annotated[
    str,
    typer.Option(
        "--to", metavar="checkpoint:N|SAVEPOINT", help="The target: checkpoint:7, or the path of a savepoint."
    ),
]
KeepTable = Annotated[
    bool,
    typer.Option(
        "--keep-table", help="Leave the table as it is; records that are read again overwrite its rows."
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Roll back. Without it the command is a dry run and changes nothing.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, even with --yes.")]


def rollback(  # noqa: PLR0913 - each is an option of the command
    file: File,
    to: To,
    settings: Settings = None,
    keep_table: KeepTable = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Roll the job of FILE back to an older checkpoint or a savepoint; a dry run unless --yes is given.

    The command first shows what can be restored and what cannot.
    """
    from milepost.cli.output.progress import progress_bar
    from milepost.cli.run.plan import open_job_spec  # Spark
    from milepost.config import load_config
    from milepost.migrate.rollback import COMMAND, inspect

    config = load_config(file, settings or [])
    is_applied = yes and not dry_run
    with open_job_spec(config, file.parent) as spec:
        with progress_bar("Reading the checkpoint, the log and the table …"):
            found = inspect(spec, to, keep_table=keep_table).inspect_table()
        if not as_json:
            tables.print_lines(describe(found))
        after = None
        if is_applied:
            words = [str(file), "--to", to, *(["--keep-table"] if keep_table else []), "--yes"]
            with progress_bar("Rolling back …"):
                after = found.apply(shlex.join([*COMMAND.split(), *words]))
    if as_json:
        tables.print_json(_document(found, after, is_applied=is_applied))
    elif is_applied:
        tables.print_lines(_result_lines(found, after, str(file)))
    else:
        tables.print_lines(["Nothing was changed. Run the command again with --yes to roll back."])


def describe(found: Rollback) -> list[str]:
    """Return what the rollback does, as text."""
    lines = [f"Rolling back to {found.boundary.name}: {found.records:,} records will be read again."]
    for each in (each for plan in found.starts.values() for each in plan.partitions):
        lines.append(
            f"  {each.topic}-{each.partition}: from {found.ends[each.topic][each.partition]} to {each.offset}"
        )
    if found.table is None:
        return [*lines, "The output of the sink stays as it is."]
    table = found.table
    lines += [
        f"Table {table.sink.table}: {table.found.rows:,} rows have been written since.",
        f"  {table.found.restored:,} cells get their previous value back",
        f"  {table.found.removed:,} cells did not exist and are deleted",
        f"  {table.found.same:,} cells are unchanged",
        f"  {table.found.lost:,} cells cannot be restored: HBase may have removed their previous value; they stay",
    ]
    return [*lines, *(f"    for example {example}" for example in table.found.examples)]


def _result_lines(found: Rollback, after: RollbackCounts | None, file: str) -> list[str]:
    checked = (
        f"Checked again: {after.same:,} cells have their value at the boundary, {after.lost:,} cannot be restored."
        if after
        else None
    )
    done = f"Rolled back to {found.boundary.name}. `milepost run {file}` resumes from there."
    return [line for line in (checked, done) if line is not None]


def _document(found: Rollback, after: RollbackCounts | None, *, is_applied: bool) -> dict[str, Any]:
    return {
        "rolled-back": is_applied,
        "to": found.boundary.name,
        "records": found.records,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "from": found.ends[each.topic][each.partition],
                "to": each.offset,
            }
            for plan in found.starts.values()
            for each in plan.partitions
        ],
        "table": None if found.table is None else asdict(found.table.found),
        "after": None if after is None else asdict(after),
    }
