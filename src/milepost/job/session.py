"""Config -> SparkSession, with our jars on its class path and its log in a file instead of the user's terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from milepost.errors import PreflightError
from milepost.job import scratch

_LOOPBACK = "127.0.0.1"

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.killEnabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # Without PyArrow, which nobody asked for, Spark would warn at every Python function.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
}


def spark_jars() -> list[Path]:
    """Return the jars that travel with the package, or refuse where the build left none."""
    folder = Path(str(files("milepost"))) / "jars" / "spark"
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name.startswith("milepost-engine") for jar in jars):
        raise PreflightError(
            f"The engine's jar is not in {folder}",
            why="this is a source checkout whose Java module has not been built",
            fix="Run `make jars`, or install the wheel, which carries the jars",
        )
    return jars


def spark_conf(master: str, settings: Mapping[str, str], log: Path) -> dict[str, str]:
    """Return every Spark setting of a job; the user's own win over our defaults, not over what we own."""
    conf = dict(_DEFAULTS)
    if master.startswith("local"):
        conf |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    conf |= settings
    jars = spark_jars()
    conf["spark.master"] = master
    conf["spark.driver.extraClassPath"] = _joined(
        conf, "spark.driver.extraClassPath", ":", [str(j) for j in jars]
    )
    options = [f"-Dlog4j2.configurationFile={_log4j_file().as_uri()}", f'-Dmilepost.log="{log}"']
    conf["spark.driver.extraJavaOptions"] = _joined(conf, "spark.driver.extraJavaOptions", " ", options)
    if not _is_local(master):
        # Executors of a cluster fetch the jars from the driver; in local mode they share its class path.
        conf["spark.jars"] = ",".join(jar.as_uri() for jar in jars)
    return conf


@contextmanager
def session(name: str, conf: Mapping[str, str], log: Path) -> Iterator[SparkSession]:
    """Lend out a session whose JVM ends with the block."""
    spark = open_session(name, conf, log)
    try:
        yield spark
    finally:
        close_session(spark)


def open_session(name: str, conf: Mapping[str, str], log: Path) -> SparkSession:
    """Start the driver's JVM and return its session."""
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no public question for this
        raise PreflightError(
            "A Spark session is already running in this process",
            why="Milepost sets class path and log of the driver's JVM, which must happen before it starts",
            fix="Start the job in a process of its own, or stop the session first",
        )
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch.sweep()
    if conf["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")
    # Spark would take the python3 of the PATH, which may be another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark_settings = SparkConf(loadDefaults=False).setAppName(name)
    for key, value in _with_scratch(conf, scratch.create()).items():
        spark_settings.set(key, value)
    with log.open("ab") as sink:
        # What the JVM prints outside its logger belongs to the log as well.
        gateway = launch_gateway(spark_settings, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=spark_settings, gateway=gateway)
    context.setLogLevel("WARN")
    return SparkSession(context)


def close_session(spark: SparkSession) -> None:
    """Stop Spark and end the driver's JVM, so that the next session of this process starts its own."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark leaves the JVM running otherwise
    with suppress(Exception):
        spark.stop()
    if gateway is not None:
        process = getattr(gateway, "proc", None)
        gateway.shutdown()
        if process is not None:
            process.stdin.close()
            process.wait(timeout=30)
        SparkContext._gateway = None  # noqa: SLF001
        SparkContext._jvm = None  # noqa: SLF001
    scratch.clear()


def _with_scratch(conf: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings with everything the JVM puts on disk in one folder, unless the user chose another."""
    options = f'-Djava.io.tmpdir="{folder}" {conf["spark.driver.extraJavaOptions"]}'
    return {"spark.local.dir": str(folder), **conf, "spark.driver.extraJavaOptions": options}


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _joined(conf: Mapping[str, str], key: str, separator: str, ours: Sequence[str]) -> str:
    return separator.join([*ours, *([conf[key]] if conf.get(key) else [])])


def _log4j_file() -> Path:
    return Path(str(files("milepost"))) / "job" / "log4j2.properties"
