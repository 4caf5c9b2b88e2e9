"""`milepost adopt`: takes over the checkpoint of a plain Spark query."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from milepost.cli.arguments import File, Settings
from milepost.cli.console import err, out
from milepost.cli.plan import opened, print_plan
from milepost.config import load_config
from milepost.job.adopt import inspect

SparkCheckpoint = Annotated[
    str,
    typer.Option(
        "--spark-checkpoint", metavar="DIR", help="The checkpointLocation of the query; it is only read."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything and print what would be taken; change nothing.")
]


def adopt(
    file: File, spark_checkpoint: SparkCheckpoint, settings: Settings = None, dry_run: DryRun = False
) -> None:
    """Take over the checkpoint of a plain Spark query that reads Kafka; `run FILE` then goes on where it stopped."""
    config = load_config(file, settings or [])
    command = shlex.join(["milepost", "adopt", str(file), "--spark-checkpoint", spark_checkpoint])
    with opened(config, file.parent) as recipe:
        with err.status("Asking Kafka and HBase …"):
            adoption = inspect(recipe, spark_checkpoint, command)
        for line in adoption.summary():
            out.print(f"Takes over: {line}", markup=False)
        print_plan(adoption.plan)
        if dry_run:
            out.print("OK: this checkpoint can be taken over. Nothing was changed.")
            return
        count = adoption.take()
        out.print(
            f"Taken over: {count:,} files, in {config.checkpointing.dir}. Start the job with `milepost run {file}`.",
            markup=False,
        )
