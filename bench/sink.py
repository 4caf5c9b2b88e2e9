"""Measures rows per second into HBase and their cost: the plain client, every write mode of Milepost, and happybase.

Every subject writes the same rows into a new table of the same embedded HBase, in one run, one after another in
alternating order; the first round is a warm-up and is not counted. Milepost reads the rows from Kafka as JSON; the
plain client has them in memory and is the upper limit of mutations. The rate of mutations is measured from the first
commit to the last full batch: it excludes the start and includes the gaps between batches. The rate of bulk-load and
auto is end to end, from the start of the job to its end. CPU seconds cover the complete run. HBase does not compact
during a run, because compactions would hit the subjects by chance; `--compactions` enables them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyspark
from calm import CALM
from commits import read_commits, steady_rate
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from thrift_server import thrift_server

import milepost
from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.engine import java_map, jvm
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.supervisor import Job
from milepost.services import Endpoints, Services, Settings
from milepost.sink.hbase import mapping_options, write_options

TOPIC = "sink"
PARTITIONS = 2
REGIONS = 4
SCHEMA = "id STRING, customer STRING, amount DOUBLE, status STRING"
COLUMNS = ["customer", "amount", "status"]
GOALS = {"mutations": (("micro-batch", "real-time"), 1.1), "a backlog": (("auto",), 2.0)}
"""Per goal: the subjects, and the factor of the plain client's rate that the best of them must reach."""
THRIFT_BATCHES = 6
WARM_UPS = 1
"""Rounds that are not counted; with fewer than two million rows HBase and Spark would still be compiling."""
CEILING = "plain-client"
MILLION = 1_000_000


@dataclass(frozen=True)
class Bench:
    """The parameters that all runs share."""

    spark: SparkSession
    endpoints: Endpoints
    directory: Path
    records: int
    hbase_pid: int
    client: subprocess.Popen[str]
    keys: str
    sink: dict[str, Any]

    def config(self, name: str, source: dict[str, Any], checkpointing: dict[str, Any]) -> Config:
        """Return the pipeline of one run, with its own table."""
        kafka = {
            "bootstrap-servers": self.endpoints.bootstrap_servers,
            "topics": [TOPIC],
            "start": "earliest",
            "format": "json",
            "schema": SCHEMA,
        }
        hbase = {
            "quorum": self.endpoints.quorum,
            "table": name,
            "row-key": ["id"],
            "columns": {"d": COLUMNS},
            "create-table": {"regions": REGIONS},
        }
        return Config(
            name=name,
            source={"kafka": kafka | source},
            sink={"hbase": hbase | self.sink},
            checkpointing={"dir": str(self.directory / name), "retained": 1000} | checkpointing,
        )


@dataclass(frozen=True)
class Measure:
    """The result of one run: the rate, and CPU seconds per million rows of the client and of HBase."""

    rate: float
    client_cpu: float
    hbase_cpu: float


# ---- the subjects: each fills the table `name` and returns its rows per second ----


def plain_client(bench: Bench, name: str) -> float:
    """Put the rows from memory with HBase's own client."""
    create_table(bench, bench.config(name, {}, {"interval": "1h"}))
    return bench.records / float(ask(bench.client, f"put {name} {bench.records} {bench.keys}"))


def micro_batch(bench: Bench, name: str) -> float:
    """Run the bounded pipeline to its end, in five batches, each about as long as one in real-time mode."""
    return run_bounded(bench, name, {"interval": 0})


def at_least_once(bench: Bench, name: str) -> float:
    """Do the same with versions from the server's clock."""
    return run_bounded(bench, name, {"interval": 0, "mode": "at-least-once"})


def run_bounded(bench: Bench, name: str, checkpointing: dict[str, Any]) -> float:
    """Run a pipeline that ends by itself, and return its rate."""
    source = {"stop": "latest", "max-offsets-per-trigger": max(bench.records // 5, 1)}
    config = bench.config(name, source, checkpointing)
    finish(start_job(prepare_job(job_spec(bench, config))))
    return steady_rate(read_commits(Layout(bench.directory / name), TOPIC))


def finish(job: Job) -> None:
    """Wait for the end of a bounded job."""
    status = job.wait()
    if status.value != "FINISHED":
        raise SystemExit(f"the job ended as {status.value}: {job.error}")


def real_time(bench: Bench, name: str) -> float:
    """Run the unbounded pipeline until it has acknowledged all records."""
    config = bench.config(name, {}, {"interval": "3s", "execution": "real-time"})
    layout = Layout(bench.directory / name)

    def stop_at_the_end(_: object) -> None:
        commits = read_commits(layout, TOPIC)
        if commits and commits[-1].rows == bench.records:
            job.cancel()

    job = start_job(prepare_job(job_spec(bench, config)))
    status = job.wait(stop_at_the_end)
    if job.error is not None:
        raise SystemExit(f"the job ended as {status.value}: {job.error}")
    # The last batch waits for records that never arrive.
    return steady_rate([commit for commit in read_commits(layout, TOPIC) if 0 < commit.rows < bench.records])


def backlog(write: str) -> Callable[[Bench, str], float]:
    """Return a subject that processes a backlog, from the start of the job to its end."""

    def run(bench: Bench, name: str) -> float:
        config = replace(bench, sink={"write": write}).config(name, {"stop": "latest"}, {"interval": 0})
        prepared = prepare_job(job_spec(bench, config))
        started = time.monotonic()
        finish(start_job(prepared))
        return bench.records / (time.monotonic() - started)

    return run


def happybase(bench: Bench, name: str) -> float:
    """Write with foreachBatch and happybase over Thrift; a part of the topic is enough for its rate.

    Its CPU figures are meaningless: not all rows are written, and Python and the Thrift server are not included.
    """
    create_table(bench, bench.config(name, {}, {"interval": "1h"}))
    layout = Layout(bench.directory / name)
    with thrift_server(bench.endpoints.quorum, bench.directory / f"{name}-thrift") as server:
        query = (
            bench.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", bench.endpoints.bootstrap_servers)
            .option("subscribe", TOPIC)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", max(bench.records // 40, 1))
            .load()
            .selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS record")
            .selectExpr("record.*")
            .writeStream.foreachBatch(server.writer(name, COLUMNS))
            .option("checkpointLocation", str(layout.root))
            .start()
        )
        while len(read_commits(layout, TOPIC)) < THRIFT_BATCHES and query.isActive:
            time.sleep(0.1)
        query.stop()
        return steady_rate(read_commits(layout, TOPIC))


def one_write(bench: Bench, name: str) -> float:
    """Write the complete topic with one Spark job, each partition in its order."""
    return measure_write(bench, name, all_rows(bench))


def one_sorted_write(bench: Bench, name: str) -> float:
    """Do the same as RequiresDistributionAndOrdering would: distribute rows by range of their key, and sort them."""
    rows = all_rows(bench).repartitionByRange(PARTITIONS, "id").sortWithinPartitions("id")
    return measure_write(bench, name, rows)


def all_rows(bench: Bench) -> DataFrame:
    """Return the topic as rows with their records, read with plain Spark."""
    records = (
        bench.spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bench.endpoints.bootstrap_servers)
        .option("subscribe", TOPIC)
        .load()
    )
    return records.selectExpr(
        f"from_json(CAST(value AS STRING), '{SCHEMA}') AS record",
        "struct(topic, partition, offset, timestamp, key, value IS NULL AS tombstone) AS _kafka",
    ).selectExpr("record.*", "_kafka")


def measure_write(bench: Bench, name: str, rows: DataFrame) -> float:
    """Return rows per second of one write, from its start to its end."""
    config = bench.config(name, {}, {"interval": "1h"})
    create_table(bench, config)
    started = time.monotonic()
    rows.write.format("milepost-hbase").options(**write_options(config.sink.hbase)).mode("append").save()
    return bench.records / (time.monotonic() - started)


SUBJECTS: dict[str, Callable[[Bench, str], float]] = {
    CEILING: plain_client,
    "micro-batch": micro_batch,
    "real-time": real_time,
    "bulk-load": backlog("bulk-load"),
    "auto": backlog("auto"),
    "happybase": happybase,
}
EXPERIMENTS: dict[str, Callable[[Bench, str], float]] = {
    "at-least-once": at_least_once,
    "one-write": one_write,
    "sorted-write": one_sorted_write,
}


# ---- how they are measured ----


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(bench: Bench, subject: str, name: str) -> Measure:
    """Run one subject."""
    jvm_pid = int(jvm(bench.spark).java.lang.ProcessHandle.current().pid())
    client_pid = bench.client.pid if subject == CEILING else jvm_pid
    before = cpu_seconds(client_pid), cpu_seconds(bench.hbase_pid)
    rate = (SUBJECTS | EXPERIMENTS)[subject](bench, name)
    after = cpu_seconds(client_pid), cpu_seconds(bench.hbase_pid)
    ask(bench.client, f"drop {name}")  # its flushes must not affect the next subject
    million = bench.records / MILLION
    return Measure(rate, (after[0] - before[0]) / million, (after[1] - before[1]) / million)


def ask(client: subprocess.Popen[str], line: str) -> str:
    """Send the plain client a command, and return its response."""
    if client.stdin is None or client.stdout is None:
        raise SystemExit("the plain client has no pipes")
    client.stdin.write(f"{line}\n")
    client.stdin.flush()
    return client.stdout.readline()


def job_spec(bench: Bench, config: Config) -> JobSpec:
    """Return the parts of a job."""
    return JobSpec(spark=bench.spark, config=config, folder=bench.directory, log=bench.directory / "log")


def create_table(bench: Bench, config: Config) -> None:
    """Create the table as the pipeline would."""
    families = jvm(bench.spark).java.util.ArrayList()
    families.add("d")
    options = java_map(bench.spark, mapping_options(config.sink.hbase))
    jvm(bench.spark).io.milepost.hbase.table.HBaseInspector.createTable(
        options, families, java_map(bench.spark, {}), REGIONS
    )


def row_key(number: int, keys: str) -> str:
    """Return the same key as the plain client: in order, or spread over the table like a hash."""
    return f"order-{number:08}" if keys == "ordered" else f"{number * 2654435761 % 2**32:08x}"


def produce(endpoints: Endpoints, records: int, keys: str) -> None:
    """Fill the topic."""
    servers: dict[str, Any] = {"bootstrap.servers": endpoints.bootstrap_servers}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result()
    producer = Producer(servers | {"linger.ms": 50, "queue.buffering.max.messages": 500_000})
    for number in range(records):
        key = row_key(number, keys)
        value = (
            f'{{"id": "{key}", "customer": "customer-{number % 9973}", '
            f'"amount": {number / 100}, "status": "open"}}'
        )
        while True:
            try:
                producer.produce(TOPIC, key=key, value=value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


@contextmanager
def plain_client_process(endpoints: Endpoints, directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Compile the plain client against our jars and keep it running, so that it is as warmed up as Spark's JVM."""
    jars = [Path(milepost.__file__).parent / "jars" / "spark", Path(pyspark.__file__).parent / "jars"]
    classpath = os.pathsep.join([str(directory), *(f"{folder}/*" for folder in jars)])
    source = Path(__file__).with_name("PlainClient.java")
    subprocess.run(["javac", "-cp", classpath, "-d", str(directory), str(source)], check=True)
    opens = [
        f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "sun.nio.ch", "java.lang")
    ]
    command = [
        "java",
        "-Xmx1g",
        "-XX:+UseParallelGC",
        *opens,
        "-cp",
        classpath,
        "PlainClient",
        endpoints.quorum,
    ]
    with (
        (directory / "plain-client.log").open("w") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


def run(bench: Bench, subjects: list[str], rounds: int) -> dict[str, list[Measure]]:
    """Return the results of every subject, round by round, without the warm-up."""
    measures: dict[str, list[Measure]] = {subject: [] for subject in subjects}
    for number in range(1 - WARM_UPS, rounds + 1):
        # In alternating order, so that no subject always runs after the same one.
        for subject in subjects if number % 2 else reversed(subjects):
            result = measure(bench, subject, f"{subject}-{number + WARM_UPS}")
            print(f"round {number:2} {line(subject, result)}{'' if number > 0 else ' (warm-up)'}", flush=True)
            if number > 0:
                measures[subject].append(result)
    return measures


def line(subject: str, measure: Measure) -> str:
    """Return a result as text."""
    return (
        f"{subject:13} {measure.rate:10,.0f} rows/s, CPU s per million rows: "
        f"client {measure.client_cpu:5.1f}, HBase {measure.hbase_cpu:5.1f}"
    )


def median(measures: list[Measure]) -> Measure:
    """Return the median of each figure."""
    return Measure(
        statistics.median(each.rate for each in measures),
        statistics.median(each.client_cpu for each in measures),
        statistics.median(each.hbase_cpu for each in measures),
    )


def main() -> int:
    """Run the comparison; exit 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help=", ".join(SUBJECTS | EXPERIMENTS))
    parser.add_argument("--sink", default="{}", help="options of sink.hbase beside the mapping, as JSON")
    parser.add_argument("--keys", choices=["ordered", "hashed"], default="ordered")
    parser.add_argument("--compactions", action="store_true", help="allow compactions during the runs")
    parser.add_argument("--java", default="", help="options of the JVM of Spark, for experiments")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the services are stopped
    subjects = options.subjects.split(",")
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    services = Services(directory / "services", settings=Settings() if options.compactions else CALM)
    try:
        with services as endpoints, plain_client_process(endpoints, directory) as client:
            produce(endpoints, options.records, options.keys)
            hbase = next(each.pid for each in services.status() if each.name == "hbase")
            nowhere: Any = None
            sink = json.loads(options.sink)
            bench = Bench(
                nowhere, endpoints, directory, options.records, hbase or 0, client, options.keys, sink
            )
            any_config = bench.config("any", {}, {"interval": "3s", "execution": "real-time"})
            settings = session_settings(any_config) | {"spark.driver.memory": "2g"}
            settings["spark.driver.extraJavaOptions"] = options.java
            log = directory / "log"
            with session("bench", spark_conf(f"local[{PARTITIONS}]", settings, log), log) as spark:
                bench = replace(bench, spark=spark)
                measures = run(bench, subjects, options.rounds)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    medians = {subject: median(values) for subject, values in measures.items()}
    for subject, measure in medians.items():
        print(f"median  {line(subject, measure)}")
    return 1 if count_missed_goals(medians) else 0


def count_missed_goals(medians: dict[str, Measure]) -> int:
    """Print the rates relative to the plain client, and return the number of missed goals."""
    count = 0
    for what, (subjects, goal) in GOALS.items():
        rates = [medians[subject].rate for subject in subjects if subject in medians]
        if rates and CEILING in medians:
            ratio = max(rates) / medians[CEILING].rate
            print(f"ratio   {what}: {ratio:.2f} (goal {goal})")
            count += ratio < goal
    return count


if __name__ == "__main__":
    sys.exit(main())
