"""`milepost rollback`: sets a job back to an older checkpoint or a savepoint, its table with it."""

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


def rollback(  # noqa: PLR0913 - each is an option of the command
    file: File,
    to: To,
    settings: Settings = None,
    keep_table: KeepTable = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Set the job of FILE back; says first what can be brought back and what cannot, and needs --yes to do it."""
    from milepost.cli.output.progress import working
    from milepost.cli.run.plan import opened  # Spark
    from milepost.config import load_config
    from milepost.migrate.rollback import COMMAND, inspect

    config = load_config(file, settings or [])
    is_done = yes and not dry_run
    with opened(config, file.parent) as spec:
        with working("Looking at the checkpoint, the log and the table …"):
            found = inspect(spec, to, keep_table=keep_table).inspect_table()
        if not as_json:
            tables.print_lines(described(found))
        after = None
        if is_done:
            words = [str(file), "--to", to, *(["--keep-table"] if keep_table else []), "--yes"]
            with working("Rolling back …"):
                after = found.apply(shlex.join([*COMMAND.split(), *words]))
    if as_json:
        tables.print_json(_document(found, after, is_done=is_done))
    elif is_done:
        tables.print_lines(_ending(found, after, str(file)))
    else:
        tables.print_lines(["Nothing was changed. Run it again with --yes to do it."])


def described(found: Rollback) -> list[str]:
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


def _ending(found: Rollback, after: RollbackCounts | None, file: str) -> list[str]:
    looked = (
        f"Looked again: {after.same:,} cells are as they were, {after.lost:,} cannot be." if after else None
    )
    done = f"Rolled back to {found.boundary.name}. `milepost run {file}` goes on from there."
    return [line for line in (looked, done) if line is not None]


def _document(found: Rollback, after: RollbackCounts | None, *, is_done: bool) -> dict[str, Any]:
    return {
        "rolled-back": is_done,
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
