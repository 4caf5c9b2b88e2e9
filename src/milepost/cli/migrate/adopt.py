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
        "--spark-checkpoint", metavar="DIR", help="The checkpointLocation of the query; it is only read."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything and print what would be taken; change nothing.")
]


def adopt(
    file: File,
    spark_checkpoint: SparkCheckpoint,
    settings: Settings = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take over the checkpoint of a plain Spark query that reads Kafka; `run FILE` then goes on where it stopped."""
    from milepost.cli.output.progress import working
    from milepost.cli.run.plan import opened, print_plan  # Spark
    from milepost.config import load_config
    from milepost.migrate.adopt import inspect

    config = load_config(file, settings or [])
    command = shlex.join(["milepost", "adopt", str(file), "--spark-checkpoint", spark_checkpoint])
    with opened(config, file.parent) as spec:
        with working("Asking Kafka and HBase …"):
            adoption = inspect(spec, spark_checkpoint, command)
        if not as_json:
            table.print_lines([f"Takes over: {line}" for line in adoption.summary()])
            print_plan(adoption.plan)
        count = 0
        if not dry_run:
            with working("Copying the checkpoint …"):
                count = adoption.take()
    place = config.checkpointing.dir
    if as_json:
        taken = {"taken-over": not dry_run, "files": count, "directory": place}
        table.print_json(taken | {"takes-over": adoption.summary(), "plan": adoption.plan.document()})
    elif dry_run:
        table.print_lines(["OK: this checkpoint can be taken over. Nothing was changed."])
    else:
        table.print_lines(
            [f"Taken over: {count:,} files, in {place}. Start the job with `milepost run {file}`."]
        )
