"""JVM options for the drivers of the tests, which live for seconds."""

from __future__ import annotations

from pathlib import Path

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Environment variable whose options Spark gives to a driver's JVM and to no other."""

ARCHIVE = Path(__file__).parents[1] / ".cache" / "driver.jsa"

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The second compiler and a collector with threads would cost more than they give."""


def driver_options(archive: Path = ARCHIVE) -> str:
    """Return the options of a short-lived driver; a JVM that cannot use the archive says nothing and does without."""
    return f'{SHORT_LIVED} "-XX:SharedArchiveFile={archive}" -Xlog:cds=off -Xlog:cds+dynamic=off'
