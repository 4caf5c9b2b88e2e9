"""`milepost lineage`: which records wrote a row, or which rows a record wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli.argument.arguments import File, Json, Settings
from milepost.errors import PreflightError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from milepost.config import Config

RowKey = Annotated[
    str | None,
    typer.Argument(
        metavar="[ROW_KEY]",
        help='Value of the key column, a JSON list for several columns, such as ["ann", 7], or bytes as hex:616e6e.',
    ),
]
Offset = Annotated[
    str | None,
    typer.Option("--offset", metavar="TOPIC:PARTITION:OFFSET", help="A record, instead of a row."),
]


def lineage(
    file: File,
    row: RowKey = None,
    offset: Offset = None,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show which record and checkpoint wrote each cell of a row in the table of FILE.

    With --offset, show instead which rows a record wrote, and the current state of its cells.
    """
    if (row is None) == (offset is None):
        raise PreflightError("Give either a row key or --offset", fix="Run `milepost lineage FILE ROW_KEY`")
    from milepost.cli.inspect.lineage_view import print_record, print_row
    from milepost.config import load_config
    from milepost.inspect.lineage_setup import lineage_of, mapping_or_none
    from milepost.inspect.rowkey import parse_row_key

    config = load_config(file, settings or [])
    spot = None if offset is None else parse_spot(offset)
    key = None if row is None else parse_row_key(row, mapping_or_none(config))
    with _session(config) as spark:
        lineages = lineage_of(config, spark)
        record = None if spot is None else lineages.of_record(spot)
        cells = () if key is None else lineages.of_row(key)
    if record is not None:
        print_record(record, as_json=as_json)
    elif key is not None:
        print_row(key, cells, as_json=as_json)


def parse_spot(text: str) -> tuple[str, int, int]:
    """Return topic, partition and offset; the name of a topic contains neither colons nor spaces."""
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise PreflightError(
            f"{text!r} is not a record", fix="Write it as topic:partition:offset, such as orders:0:42"
        )
    return topic, int(partition), int(offset)


@contextmanager
def _session(config: Config) -> Iterator[SparkSession]:
    from milepost.cli.output.progress import progress_bar
    from milepost.job.spark.session import (  # starts a JVM
        session,
        spark_conf,
    )

    with (
        tempfile.TemporaryDirectory(prefix="milepost-lineage-") as folder,
        progress_bar("Reading the table and the log …"),
    ):
        log = Path(folder) / "driver.log"
        with session("lineage", spark_conf(config.spark.master, config.spark.conf, log), log) as spark:
            yield spark
