"""`milepost verify`: verifies that the table equals the log, or shows where it differs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from milepost.cli.argument.arguments import File, Json, Settings
from milepost.cli.output import table

if TYPE_CHECKING:
    from milepost.config import Config
    from milepost.verify import At, Report


Boundary = Annotated[
    Literal["checkpoint", "end"],
    typer.Option(
        "--at",
        help="Compare up to the newest completed `checkpoint`, or up to the `end` of the log. Use `end` for a job that"
        " has read everything and whose checkpointing.dir cannot be read here.",
    ),
]


def verify(file: File, at: Boundary = "checkpoint", as_json: Json = False, settings: Settings = None) -> None:
    """Verify that the table of FILE equals the log; exit 4 with examples if it differs.

    The table is compared with the log up to the newest completed checkpoint. Later records are counted as not yet
    read. The job may run at the same time, and producers may write.
    """
    from milepost.config import load_config
    from milepost.verify import prepare

    config = load_config(file, settings or [])
    prepare(config, at)
    notes: list[str] = []
    report = _compare(config, at, notes)
    if as_json:
        table.print_json(report.document())
    else:
        table.print_lines([*(f"  {line}" for line in notes), *report.lines()])
    if not report.is_verified:
        raise report.error()


def _compare(config: Config, at: At, notes: list[str]) -> Report:
    from milepost.cli.output.progress import progress_bar
    from milepost.job.spark.session import session, spark_conf
    from milepost.verify import verify_pipeline

    with (
        tempfile.TemporaryDirectory(prefix="milepost-verify-") as folder,
        progress_bar("Starting Spark …") as bar,
    ):
        log = Path(folder) / "driver.log"
        with session("verify", spark_conf(config.spark.master, config.spark.conf, log), log) as spark:
            bar.set_title("Reading the log …")
            return verify_pipeline(config, spark, at=at, say=notes.append, watch=bar.update)
