"""Config -> SparkSession, with our jars on its class path and its log in a file instead of the user's terminal."""

from __future__ import annotations

import atexit
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from milepost.engine import BareJvm
from milepost.errors import NotReachableError, PreflightError
from milepost.job.spark import hardening, scratch
from milepost.sentence import plain

Look = Callable[[BareJvm], None]
"""Looks with the driver's JVM at what needs no Spark session, and raises what it refuses."""

_LOOPBACK = "127.0.0.1"

_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # Without PyArrow, which nobody asked for, Spark would warn at every Python function.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
    # A task that Spark has given up, or an executor that does not reach the driver, may write old records meanwhile.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "60s",
    "spark.executor.heartbeat.maxFailures": "12",
}
# Between two batches the driver runs a lot of code a few times. What collects beside it, or compiles that code for the
# best instead of soon, takes the processor away from it: docs/decisions/0012.
_COLLECTOR = "-XX:+UseParallelGC"
_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
_CHOSEN_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
# Where a JVM takes options from beside its command line; with two collectors it does not start.
_JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


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
    conf = _DEFAULTS | hardening.defaults(master)
    if master.startswith("local"):
        conf |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    cluster = _LOCAL_CLUSTER.fullmatch(master)
    if cluster:
        # The job begins when every executor is there: real-time execution counts their cores.
        conf["spark.cores.max"] = str(int(cluster[1]) * int(cluster[2]))
        conf["spark.scheduler.minRegisteredResourcesRatio"] = "1.0"
    conf |= settings
    hardening.require(master, conf, os.environ)
    jars = spark_jars()
    conf["spark.master"] = master
    conf["spark.driver.extraClassPath"] = _joined(
        conf, "spark.driver.extraClassPath", ":", [str(j) for j in jars]
    )
    options = [f"-Dlog4j2.configurationFile={_log4j_file().as_uri()}", f'-Dmilepost.log="{log}"', _COMPILER]
    options += hardening.KAFKA_FLAGS
    given = [conf.get("spark.driver.extraJavaOptions", ""), *(os.environ.get(n, "") for n in _JVM_VARIABLES)]
    if not any(map(_CHOSEN_COLLECTOR.search, given)):
        options.append(_COLLECTOR)
    conf["spark.driver.extraJavaOptions"] = _joined(conf, "spark.driver.extraJavaOptions", " ", options)
    conf["spark.executor.extraJavaOptions"] = _joined(
        conf, "spark.executor.extraJavaOptions", " ", hardening.KAFKA_FLAGS
    )
    if not _is_local(master):
        # Executors of a cluster fetch the jars from the driver; in local mode they share its class path.
        conf["spark.jars"] = ",".join(jar.as_uri() for jar in jars)
    return conf


def spark_session(
    name: str = "milepost",
    *,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    log: Path | str | None = None,
) -> SparkSession:
    """Return a Spark session of your own that knows `milepost-hbase` and Kafka, for reading back what a job wrote.

    `conf` takes any Spark setting but the driver's class path. What Spark logs goes to the file `log`, by default in
    the temp folder. The session ends with `stop()`, with a `with` block, or with the process. One process has one
    session: stop it before you start a pipeline in the same process.
    """
    file = Path(log) if log is not None else Path(tempfile.gettempdir()) / "milepost" / f"{name}.log"
    spark = open_session(name, spark_conf(master, conf or {}, file.absolute()), file.absolute())
    atexit.register(close_session, spark)
    return spark


@contextmanager
def session(
    name: str, conf: Mapping[str, str], log: Path, look: Look = lambda _: None
) -> Iterator[SparkSession]:
    """Lend out a session whose JVM ends with the block."""
    spark = open_session(name, conf, log, look)
    try:
        yield spark
    finally:
        close_session(spark)


def open_session(name: str, conf: Mapping[str, str], log: Path, look: Look = lambda _: None) -> SparkSession:
    """Start the driver's JVM and return its session; `look` is called in between, and ends the JVM if it raises."""
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no public question for this
        raise PreflightError(
            "A Spark session is already running in this process",
            why="Milepost sets class path and log of the driver's JVM, which must happen before it starts",
            fix="Start the job in a process of its own, or stop the session first",
        )
    if SparkContext._gateway is not None:  # noqa: SLF001 - a session that was stopped leaves its JVM running
        _end_jvm(SparkContext._gateway)  # noqa: SLF001
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch.sweep()
    if conf["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")
    # Spark would take the python3 of the PATH, which may be another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = scratch.create()
    spark_settings = SparkConf(loadDefaults=False).setAppName(name)
    launched = SparkConf(loadDefaults=False).setAppName(name)
    for key, value in _with_scratch(conf, folder).items():
        spark_settings.set(key, value)
        if hardening.is_for_the_command_line(key, value):
            launched.set(key, value)
    home = _spark_home(folder) if conf["spark.master"].startswith("local-cluster") else nullcontext()
    with log.open("ab") as sink, home:
        # What the JVM prints outside its logger belongs to the log as well.
        gateway = _launched(launched, sink, log)
    _look(gateway, look)
    try:
        context = SparkContext(conf=spark_settings, gateway=gateway)
    except Py4JJavaError as error:
        raise _no_session(error, conf["spark.master"], log, gateway) from None
    context.setLogLevel("WARN")
    return SparkSession(context)


def _launched(settings: SparkConf, sink: IO[bytes], log: Path) -> Any:
    """Start the driver's JVM, whose output goes into a file."""
    try:
        return launch_gateway(settings, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    except PySparkException as error:
        scratch.clear()
        raise PreflightError(
            "The driver's JVM did not start",
            why=plain(error.getMessage() or str(error)),
            fix=f"Check JAVA_HOME (a JDK 17 or newer), spark.conf and the room in the temporary folder. Log: {log}",
        ) from None


def _look(gateway: Any, look: Look) -> None:
    try:
        look(BareJvm(gateway.jvm))
    except BaseException:
        _end_jvm(gateway)
        scratch.clear()
        raise


def _no_session(error: Py4JJavaError, master: str, log: Path, gateway: Any) -> NotReachableError:
    """End the JVM that came up without a session, and say why it did; its own words run over pages."""
    why = plain(str(error.java_exception.getMessage()))
    _end_jvm(gateway)
    scratch.clear()
    return NotReachableError(
        f"Spark at {master} did not start",
        why=why,
        fix=f"Check spark.master and spark.conf, and that the cluster is up and has room for the job; the log is {log}",
    )


def close_session(spark: SparkSession) -> None:
    """Stop Spark and end the driver's JVM, so that the next session of this process starts its own."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - PySpark leaves the JVM running otherwise
    with suppress(Exception):
        spark.stop()
    if gateway is not None:
        _end_jvm(gateway)
    scratch.clear()


def _end_jvm(gateway: Any) -> None:
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    if process is not None:
        process.stdin.close()
        process.wait(timeout=30)
    SparkContext._gateway = None  # noqa: SLF001 - PySpark leaves the JVM running otherwise
    SparkContext._jvm = None  # noqa: SLF001


def _with_scratch(conf: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings with everything the JVM puts on disk in one folder, unless the user chose another."""
    options = f'-Djava.io.tmpdir="{folder}" {conf["spark.driver.extraJavaOptions"]}'
    return {"spark.local.dir": str(folder), **conf, "spark.driver.extraJavaOptions": options}


@contextmanager
def _spark_home(folder: Path) -> Iterator[None]:
    """Lend the JVM a home of links: the workers of a local cluster put their executors' files into it.

    They would lie in the installed package otherwise, for ever, and it may be read-only.
    """
    installed, ours = Path(_find_spark_home()), folder / "spark"
    ours.mkdir()
    for entry in installed.iterdir():
        if entry.name != "work":
            (ours / entry.name).symlink_to(entry)
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(ours)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]
        if before is not None:
            os.environ["SPARK_HOME"] = before


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _joined(conf: Mapping[str, str], key: str, separator: str, ours: Sequence[str]) -> str:
    return separator.join([*ours, *([conf[key]] if conf.get(key) else [])])


def _log4j_file() -> Path:
    return Path(str(files("milepost"))) / "job" / "log4j2.properties"
