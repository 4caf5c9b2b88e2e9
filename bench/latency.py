"""Measures the latency from produce to a readable row in HBase, at a steady rate, in real-time and micro-batch mode.

One Java process produces the records and reads their rows, so that one clock measures both ends.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from milepost.config import Config
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import close_session, open_session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.services import Endpoints, Services
from milepost.services.classpath import jars_of

PARTITIONS = 2
GOALS = {"real-time": (15.0, 100.0, 200.0), "micro-batch": (None, 350.0, None)}


def pipeline(endpoints: Endpoints, directory: Path, name: str, execution: str) -> Config:
    """Return the pipeline of one run, with its own topic and table."""
    return Config(
        name=name,
        source={
            "kafka": {
                "bootstrap-servers": endpoints.bootstrap_servers,
                "topics": [name],
                "start": "earliest",
                "format": "json",
                "schema": "id STRING, v BIGINT",
            }
        },
        sink={
            "hbase": {
                "quorum": endpoints.quorum,
                "table": name,
                "row-key": ["id"],
                "columns": {"d": ["v"]},
                "flush": {"interval": "20ms"},
                "create-table": {"regions": 1},
            }
        },
        checkpointing={
            "dir": str(directory / name),
            "interval": "5s" if execution == "real-time" else 0,
            "execution": execution,
        },
    )


def measure(spark: SparkSession, endpoints: Endpoints, config: Config, load: list[str]) -> dict[str, float]:
    """Run the job under the load and return the percentiles."""
    name = config.name
    admin = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers})
    admin.create_topics([NewTopic(name, num_partitions=PARTITIONS)])[name].result()
    folder = Path(config.checkpointing.dir.removeprefix("file://"))
    job = start_job(
        prepare_job(JobSpec(spark=spark, config=config, folder=folder.parent, log=folder.parent / "log"))
    )
    try:
        words = client(endpoints, name, load).split()
    finally:
        job.cancel()
        job.wait()
    return {key: float(value) for key, value in zip(words[::2], words[1::2], strict=True)}


def client(endpoints: Endpoints, name: str, load: list[str]) -> str:
    """Run the process that produces and reads, and return its output."""
    kafka = [jar for jar in jars_of("kafka") if jar.name.startswith("kafka-clients")]
    command = [
        "java",
        "-Xmx512m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        *("-cp", ":".join(map(str, [*jars_of("hbase"), *kafka]))),
        str(Path(__file__).with_name("Latency.java")),
        *(endpoints.bootstrap_servers, endpoints.quorum, name, name, str(PARTITIONS), *load),
    ]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Measure both execution modes in turn; exit 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", default="2000", help="records per second")
    parser.add_argument("--warm-up", default="60", help="seconds that are not counted")
    parser.add_argument("--seconds", default="40", help="seconds that are counted")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--execution", choices=list(GOALS), action="append")
    parser.add_argument("--conf", action="append", default=[], help="Spark setting, for experiments")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    missed = 0
    try:
        with Services(directory / "services") as endpoints:
            for number in range(options.rounds):
                for execution in options.execution or GOALS:
                    config = pipeline(endpoints, directory, f"{execution}-{number}", execution)
                    extra = dict(each.split("=", 1) for each in options.conf)
                    log = directory / "log"
                    conf = spark_conf("local[2]", session_settings(config) | extra, log)
                    spark = open_session("latency", conf, log)
                    try:
                        load = [options.rate, options.warm_up, options.seconds]
                        found = measure(spark, endpoints, config, load)
                    finally:
                        close_session(spark)
                    goals = dict(zip(("p50", "p99", "p99.9"), GOALS[execution], strict=True))
                    over = [key for key, goal in goals.items() if goal is not None and found[key] > goal]
                    missed += len(over)
                    print(
                        f"{execution:11}",
                        *(f"{key} {value:.1f}" for key, value in found.items()),
                        *(f"MISSED {key}" for key in over),
                        flush=True,
                    )
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
