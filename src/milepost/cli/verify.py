"""`milepost verify`: proves that the table equals the log, or shows where it does not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from milepost.cli.arguments import File, Settings
from milepost.cli.console import err, out
from milepost.config import load_config
from milepost.job.session import session, spark_conf
from milepost.verify import verify_pipeline


def verify(file: File, settings: Settings = None) -> None:
    """Prove that the table of FILE equals the log; exit 4 with examples where it does not.

    The job must stand still meanwhile: stop it, or let it catch up with producers that are silent.
    """
    config = load_config(file, settings or [])
    with (
        tempfile.TemporaryDirectory(prefix="milepost-verify-") as folder,
        err.status("Reading log and table …"),
    ):
        log = Path(folder) / "driver.log"
        conf = spark_conf(config.spark.master, config.spark.conf, log)
        with session("verify", conf, log) as spark:
            report = verify_pipeline(config, spark, say=lambda line: out.print(f"  {line}"))
    for line in report.lines():
        out.print(line, markup=False)
    if not report.is_verified:
        raise report.error()
