"""Writes the class-data archive with which the drivers of the tests start in half the time.

    python -m tests.class_archive FILE

A driver loads about 20,000 classes before its first batch. The JVM maps them from the archive, already parsed and
verified, as long as the jars are the same and come first on the class path; otherwise it ignores the archive.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from tests.ending import watched
from tests.hbase_client import HBaseClient
from tests.jvm import SHORT_LIVED, SUBMIT_OPTIONS
from tests.system.lab import Lab, lab_session, numbered

from milepost.services import Endpoints, Services

_WINDOWS = """
    SELECT CAST(window.start AS STRING) AS id, COUNT(*) AS n
    FROM (SELECT *, CAST(n AS TIMESTAMP) AS at FROM source) GROUP BY window(at, '10 seconds')
"""


def main(file: Path) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ[SUBMIT_OPTIONS] = f"{SHORT_LIVED} -XX:+RecordDynamicDumpInfo"
    with (
        watched(),
        tempfile.TemporaryDirectory(prefix="milepost archive ", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        with Services(folder / "services") as endpoints:
            write(endpoints, folder, file)


def write(endpoints: Endpoints, folder: Path, file: Path) -> None:
    with (
        HBaseClient(endpoints.quorum) as hbase,
        lab_session("archive", folder, folder / "driver.log") as spark,
    ):
        train(Lab(endpoints, hbase, spark, folder))
        dump(spark, file)


def train(lab: Lab) -> None:
    """Let the JVM load what most drivers load: a job, its state, a savepoint, a table that is read back."""
    topic = lab.topic(*numbered(10))
    config = lab.numbers(topic)
    lab.finish(config)
    lab.cells(config)
    lab.rows(config, "id STRING, n STRING")
    lab.finish(lab.numbers(topic, sql=_WINDOWS, sink={"version": "checkpoint"}))
    with lab.running(lab.numbers(topic, source={"stop": "never"})) as running:
        running.pipeline.savepoint(str(lab.folder("savepoints")))


def dump(spark: SparkSession, file: Path) -> None:
    """Write the classes that the session's JVM has loaded."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    jcmd = Path(jvm.System.getProperty("java.home")) / "bin" / "jcmd"
    pid = jvm.ProcessHandle.current().pid()
    # The JVM splits the line at spaces, also within an argument of ours.
    command = [str(jcmd), str(pid), "VM.cds", "dynamic_dump", f'"{file}"']
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if not file.is_file():
        raise SystemExit(f"The JVM did not write {file}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
