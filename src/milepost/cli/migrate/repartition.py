"""`milepost savepoint repartition`: copies a savepoint to another number of state partitions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.argument.arguments import Json
from milepost.cli.output import table

SavepointPath = Annotated[
    str, typer.Argument(metavar="PATH", help="The directory of a savepoint, as a path or URI.")
]
To = Annotated[int, typer.Option("--to", min=1, max=100_000, help="The number of shuffle partitions.")]


def repartition(path: SavepointPath, to: To, as_json: Json = False) -> None:
    """Copy the savepoint PATH for another spark.sql.shuffle.partitions; PATH itself is not changed."""
    from milepost.checkpoint.savepoint import catalog
    from milepost.cli.output.progress import progress_bar
    from milepost.job.spark.session import session, spark_conf
    from milepost.migrate.repartition import SETTINGS, repartition, require_possible

    savepoint = catalog.load(path)
    require_possible(savepoint, to)
    with tempfile.TemporaryDirectory(prefix="milepost-repartition-") as folder:
        log = Path(folder) / "driver.log"
        conf = spark_conf("local[*]", SETTINGS, log)
        with progress_bar("Repartitioning the state …"), session("repartition", conf, log) as spark:
            made = repartition(spark, savepoint, to)
    if as_json:
        table.print_json({"path": made.path, "checkpoint": made.checkpoint_id, "partitions": to})
    else:
        table.print_lines(
            [f"Savepoint {made.path} has its state in {to} partitions; use it with --from-savepoint."]
        )
