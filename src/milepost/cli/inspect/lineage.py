"""`milepost lineage`: which records wrote a row, or which rows a record went to."""

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
        help='The value of its column, a JSON list of several, such as ["ann", 7], or its bytes as hex:616e6e.',
    ),
]
Offset = Annotated[
    str | None,
    typer.Option("--offset", metavar="TOPIC:PARTITION:OFFSET", help="The record, in place of a row."),
]


def lineage(
    file: File,
    row: RowKey = None,
    offset: Offset = None,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show for every cell of a row of FILE's table which record and which checkpoint wrote it.

    With --offset the other way: which rows a record went to, and what has become of its cells.
    """
    if (row is None) == (offset is None):
        raise PreflightError(
            "Name a row key or --offset, one of the two", fix="Run `milepost lineage FILE ROW_KEY`"
        )
    from milepost.cli.inspect.lineage_view import print_record, print_row
    from milepost.config import load_config
    from milepost.inspect.lineage_setup import lineage_of, mapping_or_none
    from milepost.inspect.rowkey import parse_row_key

    config = load_config(file, settings or [])
    spot = None if offset is None else parse_spot(offset)
    key = None if row is None else parse_row_key(row, mapping_or_none(config))
    with _session(config) as spark:
        trail = lineage_of(config, spark)
        record = None if spot is None else trail.of_record(spot)
        cells = () if key is None else trail.of_row(key)
    if record is not None:
        print_record(record, as_json=as_json)
    elif key is not None:
        print_row(key, cells, as_json=as_json)


def parse_spot(text: str) -> tuple[str, int, int]:
    """Return topic, partition and offset; a topic's name may have neither a colon nor a blank."""
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise PreflightError(
            f"{text!r} is no record", fix="Write it as topic:partition:offset, such as orders:0:42"
        )
    return topic, int(partition), int(offset)


@contextmanager
def _session(config: Config) -> Iterator[SparkSession]:
    from milepost.cli.output.progress import working
    from milepost.job.spark.session import (  # a JVM reads HBase; everything before needs none
        session,
        spark_conf,
    )

    with (
        tempfile.TemporaryDirectory(prefix="milepost-lineage-") as folder,
        working("Reading table and log …"),
    ):
        log = Path(folder) / "driver.log"
        with session("lineage", spark_conf(config.spark.master, config.spark.conf, log), log) as spark:
            yield spark
