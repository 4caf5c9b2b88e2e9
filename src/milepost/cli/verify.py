"""`milepost verify`: proves that the table equals the log, or shows where it does not."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from milepost.cli import table
from milepost.cli.arguments import File, Json, Settings

if TYPE_CHECKING:
    from milepost.config import Config
    from milepost.verify import Report


def verify(file: File, as_json: Json = False, settings: Settings = None) -> None:
    """Prove that the table of FILE equals the log; exit 4 with examples where it does not.

    The job must stand still meanwhile: stop it, or let it catch up with producers that are silent.
    """
    from milepost.config import load_config

    said: list[str] = []
    report = _compared(load_config(file, settings or []), said)
    if as_json:
        table.print_json(report.document())
    else:
        table.print_lines([*(f"  {line}" for line in said), *report.lines()])
    if not report.is_verified:
        raise report.error()


def _compared(config: Config, said: list[str]) -> Report:
    from milepost.cli.progress import working
    from milepost.job.session import session, spark_conf
    from milepost.verify import verify_pipeline

    with (
        tempfile.TemporaryDirectory(prefix="milepost-verify-") as folder,
        working("Starting Spark …") as bar,
    ):
        log = Path(folder) / "driver.log"
        with session("verify", spark_conf(config.spark.master, config.spark.conf, log), log) as spark:
            bar.say("Reading the log …")
            return verify_pipeline(config, spark, say=said.append, watch=bar.at)
