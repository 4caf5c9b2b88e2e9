"""`milepost savepoint repartition`: a savepoint whose state is in another number of parts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.argument.arguments import Json
from milepost.cli.output import table

Saved = Annotated[str, typer.Argument(metavar="PATH", help="The folder of a savepoint, or its address.")]
To = Annotated[int, typer.Option("--to", min=1, max=100_000, help="The number of shuffle partitions.")]


def repartition(path: Saved, to: To, as_json: Json = False) -> None:
    """Make a savepoint of PATH for another spark.sql.shuffle.partitions; PATH itself stays as it is."""
    from milepost.checkpoint.savepoint import catalog
    from milepost.cli.output.progress import working
    from milepost.job.spark.session import session, spark_conf
    from milepost.migrate.repartition import SETTINGS, repartition, require_possible

    savepoint = catalog.load(path)
    require_possible(savepoint, to)
    with tempfile.TemporaryDirectory(prefix="milepost-repartition-") as folder:
        log = Path(folder) / "driver.log"
        conf = spark_conf("local[*]", SETTINGS, log)
        with working("Moving the state …"), session("repartition", conf, log) as spark:
            made = repartition(spark, savepoint, to)
    if as_json:
        table.print_json({"path": made.path, "checkpoint": made.checkpoint_id, "partitions": to})
    else:
        table.print_lines([f"Savepoint {made.path} has its state in {to} parts; run with --from-savepoint."])
