"""`milepost export`: writes a directory from which plain Spark resumes."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.checkpoint.store.store import Store
from milepost.cli.argument.arguments import Json
from milepost.cli.argument.checkpoint_place import JobArgument, resolve
from milepost.cli.output import table
from milepost.migrate.export import export_checkpoint

To = Annotated[str, typer.Option("--to", metavar="DIR", help="The new directory; it must not exist.")]


def export(job: JobArgument, to: To, as_json: Json = False) -> None:
    """Write the newest completed checkpoint of JOB, running or not, as a checkpointLocation for plain Spark."""
    from milepost.cli.output.progress import progress_bar  # rich is slow to import

    with progress_bar("Copying the checkpoint …"):
        checkpoint_id = export_checkpoint(resolve(job).store, Store.at(to))
    if as_json:
        table.print_json({"checkpoint": checkpoint_id, "directory": to})
    else:
        table.print_lines([f"Checkpoint {checkpoint_id} is in {to}: pass it to Spark as checkpointLocation."])
