"""Creates the SparkSession, with Milepost's jars on its class path and its log in a file."""

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

BeforeSession = Callable[[BareJvm], None]
"""Runs checks in the driver's JVM that need no Spark session; raises what it refuses."""

_LOOPBACK = "127.0.0.1"

_DEFAULTS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # Without PyArrow, an optional package, Spark would warn at every Python function.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
    # A task that Spark has given up, or an executor without contact to the driver, could still write old records.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "60s",
    "spark.executor.heartbeat.maxFailures": "12",
}
# Between two batches the driver runs much code a few times each. A concurrent collector, and a compiler that optimizes
# that code fully, take processor time from it: docs/decisions/0012.
_COLLECTOR = "-XX:+UseParallelGC"
_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
_CHOSEN_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
# The variables from which a JVM reads further options; it does not start with two collectors.
_JVM_VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def spark_jars() -> list[Path]:
    """Return the jars of the package; refuse a source checkout without built jars."""
    folder = Path(str(files("milepost"))) / "jars" / "spark"
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name.startswith("milepost-engine") for jar in jars):
        raise PreflightError(
            f"The engine's jar is not in {folder}",
            why="this is a source checkout whose Java module was not built",
            fix="Run `make jars`, or install the wheel, which contains the jars",
        )
    return jars


def spark_conf(master: str, settings: Mapping[str, str], log: Path) -> dict[str, str]:
    """Return every Spark setting of a job; `settings` override the defaults, but not what Milepost owns."""
    conf = _DEFAULTS | hardening.defaults(master)
    if master.startswith("local"):
        conf |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    cluster = _LOCAL_CLUSTER.fullmatch(master)
    if cluster:
        # The job starts when every executor is registered: real-time execution counts their cores.
        conf["spark.cores.max"] = str(int(cluster[1]) * int(cluster[2]))
        conf["spark.scheduler.minRegisteredResourcesRatio"] = "1.0"
    conf |= settings
    hardening.require(master, conf, os.environ)
    jars = spark_jars()
    conf["spark.master"] = master
    conf["spark.driver.extraClassPath"] = _join_values(
        conf, "spark.driver.extraClassPath", ":", [str(j) for j in jars]
    )
    options = [f"-Dlog4j2.configurationFile={_log4j_file().as_uri()}", f'-Dmilepost.log="{log}"', _COMPILER]
    options += hardening.KAFKA_FLAGS
    given = [conf.get("spark.driver.extraJavaOptions", ""), *(os.environ.get(n, "") for n in _JVM_VARIABLES)]
    if not any(map(_CHOSEN_COLLECTOR.search, given)):
        options.append(_COLLECTOR)
    conf["spark.driver.extraJavaOptions"] = _join_values(conf, "spark.driver.extraJavaOptions", " ", options)
    conf["spark.executor.extraJavaOptions"] = _join_values(
        conf, "spark.executor.extraJavaOptions", " ", hardening.KAFKA_FLAGS
    )
    if not _is_local(master):
        # Executors of a cluster fetch the jars from the driver; local executors share its class path.
        conf["spark.jars"] = ",".join(jar.as_uri() for jar in jars)
    return conf


def spark_session(
    name: str = "milepost",
    *,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    log: Path | str | None = None,
) -> SparkSession:
    """Return a Spark session with `milepost-hbase` and Kafka, for reading back what a job wrote.

    `conf` accepts any Spark setting except the driver's class path. Spark logs to the file `log`, by default in the
    temporary folder. The session ends with `stop()`, at the end of a `with` block, or with the process. A process has
    one session: stop it before you start a pipeline in the same process.
    """
    file = Path(log) if log is not None else Path(tempfile.gettempdir()) / "milepost" / f"{name}.log"
    spark = open_session(name, spark_conf(master, conf or {}, file.absolute()), file.absolute())
    atexit.register(close_session, spark)
    return spark


@contextmanager
def session(
    name: str, conf: Mapping[str, str], log: Path, before_session: BeforeSession = lambda _: None
) -> Iterator[SparkSession]:
    """Open a session whose JVM ends with the block."""
    spark = open_session(name, conf, log, before_session)
    try:
        yield spark
    finally:
        close_session(spark)


def open_session(
    name: str, conf: Mapping[str, str], log: Path, before_session: BeforeSession = lambda _: None
) -> SparkSession:
    """Start the driver's JVM, call `before_session`, and return the session; the JVM ends if the call raises."""
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no public API for this
        raise PreflightError(
            "A Spark session is already running in this process",
            why="Milepost sets the class path and the log of the driver's JVM, which is only possible before it starts",
            fix="Start the job in its own process, or stop the session first",
        )
    if SparkContext._gateway is not None:  # noqa: SLF001 - a stopped session leaves its JVM running
        _end_jvm(SparkContext._gateway)  # noqa: SLF001
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch.sweep()
    if conf["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")
    # Spark would use the python3 on the PATH, which may be another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = scratch.create()
    spark_settings = SparkConf(loadDefaults=False).setAppName(name)
    launched = SparkConf(loadDefaults=False).setAppName(name)
    for key, value in _with_scratch(conf, folder).items():
        spark_settings.set(key, value)
        if hardening.is_safe_on_command_line(key, value):
            launched.set(key, value)
    home = _spark_home(folder) if conf["spark.master"].startswith("local-cluster") else nullcontext()
    with log.open("ab") as sink, home:
        # The JVM's output outside its logger goes to the log too.
        gateway = _launch_jvm(launched, sink, log)
    _check_before_session(gateway, before_session)
    try:
        context = SparkContext(conf=spark_settings, gateway=gateway)
    except Py4JJavaError as error:
        raise _session_error(error, conf["spark.master"], log, gateway) from None
    context.setLogLevel("WARN")
    return SparkSession(context)


def _launch_jvm(settings: SparkConf, sink: IO[bytes], log: Path) -> Any:
    """Start the driver's JVM with its output in a file."""
    try:
        return launch_gateway(settings, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    except PySparkException as error:
        scratch.clear()
        raise PreflightError(
            "The driver's JVM did not start",
            why=plain(error.getMessage() or str(error)),
            fix=f"Check JAVA_HOME (JDK 17 or newer), spark.conf and free space in the temporary folder. Log: {log}",
        ) from None


def _check_before_session(gateway: Any, before_session: BeforeSession) -> None:
    try:
        before_session(BareJvm(gateway.jvm))
    except BaseException:
        _end_jvm(gateway)
        scratch.clear()
        raise


def _session_error(error: Py4JJavaError, master: str, log: Path, gateway: Any) -> NotReachableError:
    """End the JVM that has no session, and return the error with the first sentence of its cause."""
    why = plain(str(error.java_exception.getMessage()))
    _end_jvm(gateway)
    scratch.clear()
    return NotReachableError(
        f"Spark at {master} did not start",
        why=why,
        fix=f"Check spark.master, spark.conf, and that the cluster is running and has free resources. Log: {log}",
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
    """Return the settings with the JVM's temporary files in one folder, unless the user sets another."""
    options = f'-Djava.io.tmpdir="{folder}" {conf["spark.driver.extraJavaOptions"]}'
    return {"spark.local.dir": str(folder), **conf, "spark.driver.extraJavaOptions": options}


@contextmanager
def _spark_home(folder: Path) -> Iterator[None]:
    """Set SPARK_HOME to a folder of links: the workers of a local cluster write their executors' files there.

    Otherwise these files stay in the installed package, which may be read-only.
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


def _join_values(conf: Mapping[str, str], key: str, separator: str, ours: Sequence[str]) -> str:
    return separator.join([*ours, *([conf[key]] if conf.get(key) else [])])


def _log4j_file() -> Path:
    return Path(str(files("milepost"))) / "job" / "log4j2.properties"
