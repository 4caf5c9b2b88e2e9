"""`milepost export`: a directory from which plain Spark goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.checkpoint.files.store import Store
from milepost.checkpoint.handover.give import give
from milepost.cli.target import JobArgument, resolve

To = Annotated[str, typer.Option("--to", metavar="DIR", help="The new directory; it must not exist yet.")]


def export(job: JobArgument, to: To) -> None:
    """Write the newest completed checkpoint of JOB, running or not, as a checkpointLocation of plain Spark."""
    from milepost.cli.console import out  # rich is slow to import

    checkpoint_id = give(resolve(job).store, Store.at(to))
    out.print(f"Checkpoint {checkpoint_id} is in {to}: give it to Spark as checkpointLocation.", markup=False)
