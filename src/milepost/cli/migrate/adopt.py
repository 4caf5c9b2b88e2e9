"""`milepost adopt`: takes over the checkpoint of a plain Spark query."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from milepost.cli.argument.arguments import File, Json, Settings
from milepost.cli.output import table

SparkCheckpoint = Annotated[
    str,
    typer.Option(
        "--spark-checkpoint", metavar="DIR", help="The checkpointLocation of the query; it is not modified."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Check everything and print what would be taken over; change nothing."),
]


def adopt(
    file: File,
    spark_checkpoint: SparkCheckpoint,
    settings: Settings = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take over the checkpoint of a plain Spark query that reads Kafka; `run FILE` then resumes where it stopped."""
    from milepost.cli.output.progress import progress_bar
    from milepost.cli.run.plan import open_job_spec, print_plan  # Spark
    from milepost.config import load_config
    from milepost.migrate.adopt import inspect

    config = load_config(file, settings or [])
    command = shlex.join(["milepost", "adopt", str(file), "--spark-checkpoint", spark_checkpoint])
    with open_job_spec(config, file.parent) as spec:
        with progress_bar("Connecting to Kafka and HBase …"):
            adoption = inspect(spec, spark_checkpoint, command)
        if not as_json:
            table.print_lines([f"Takes over: {line}" for line in adoption.summary()])
            print_plan(adoption.plan)
        count = 0
        if not dry_run:
            with progress_bar("Copying the checkpoint …"):
                count = adoption.take()
    directory = config.checkpointing.dir
    if as_json:
        taken = {"taken-over": not dry_run, "files": count, "directory": directory}
        table.print_json(taken | {"takes-over": adoption.summary(), "plan": adoption.plan.document()})
    elif dry_run:
        table.print_lines(["OK: this checkpoint can be taken over. Nothing was changed."])
    else:
        table.print_lines(
            [f"Taken over: {count:,} files, in {directory}. Start the job with `milepost run {file}`."]
        )
