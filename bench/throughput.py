"""Compares the rows per second of Milepost with the same Spark query written by hand with the same sink.

Both read the same topic into a new table of the same embedded HBase, in the same JVM, one after another in alternating
order; the first round is a warm-up and is not counted. The result is a ratio, because absolute rates are noisy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from milepost.config import Config
from milepost.engine import java_map, jvm
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import close_session, open_session, spark_conf
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.services import Endpoints, Services
from milepost.sink.hbase import mapping_options, write_options

TOPIC = "bench"
PARTITIONS = 4
SCHEMA = "id STRING, customer STRING, amount DOUBLE, op STRING"
GOAL = 0.95


@dataclass(frozen=True)
class Bench:
    """The parameters that all runs share."""

    spark: SparkSession
    endpoints: Endpoints
    directory: Path
    records: int
    per_trigger: int

    def config(self, name: str) -> Config:
        """Return the pipeline of one run, with its own table."""
        return Config(
            name=name,
            source={
                "kafka": {
                    "bootstrap-servers": self.endpoints.bootstrap_servers,
                    "topics": [TOPIC],
                    "start": "earliest",
                    "stop": "latest",
                    "format": "json",
                    "schema": SCHEMA,
                    "max-offsets-per-trigger": self.per_trigger,
                }
            },
            transform={"sql": "SELECT id, customer, amount, op FROM source"},
            sink={
                "hbase": {
                    "quorum": self.endpoints.quorum,
                    "table": name,
                    "row-key": ["id"],
                    "columns": {"d": ["customer", "amount"]},
                    "op": "op",
                    "create-table": {"regions": PARTITIONS},
                }
            },
            checkpointing={"dir": str(self.directory / name), "interval": 0},
        )


def milepost(bench: Bench, name: str) -> float:
    """Run the pipeline to its end and return the seconds from start to finish."""
    folder = bench.directory
    prepared = prepare_job(
        JobSpec(spark=bench.spark, config=bench.config(name), folder=folder, log=folder / "log")
    )
    started = time.monotonic()
    status = start_job(prepared).wait()
    seconds = time.monotonic() - started
    if status is not JobStatus.FINISHED:
        raise SystemExit(f"the job ended as {status.value}")
    return seconds


def by_hand(bench: Bench, name: str) -> float:
    """Run the same query as a Spark user would write it, and return the seconds from start to finish."""
    spark, sink = bench.spark, bench.config(name).sink.hbase
    families = jvm(spark).java.util.ArrayList()
    families.add("d")
    inspector = jvm(spark).io.milepost.hbase.table.HBaseInspector
    started = time.monotonic()
    inspector.createTable(java_map(spark, mapping_options(sink)), families, java_map(spark, {}), PARTITIONS)
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bench.endpoints.bootstrap_servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", bench.per_trigger)
        .load()
    )
    rows = records.selectExpr(
        f"from_json(CAST(value AS STRING), '{SCHEMA}') AS record",
        "struct(topic, partition, offset, timestamp, key, value IS NULL AS tombstone) AS _kafka",
    ).selectExpr("record.id", "record.customer", "record.amount", "record.op", "_kafka")
    query = (
        rows.writeStream.format("milepost-hbase")
        .options(**write_options(sink))
        .option("checkpointLocation", str(bench.directory / name))
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return time.monotonic() - started


def produce(endpoints: Endpoints, records: int) -> None:
    """Fill the topic."""
    admin = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result()
    producer = Producer(
        {
            "bootstrap.servers": endpoints.bootstrap_servers,
            "linger.ms": 50,
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(records):
        value = {
            "id": f"order-{number:08}",
            "customer": f"customer-{number % 9973}",
            "amount": number / 100,
            "op": "upsert",
        }
        while True:
            try:
                producer.produce(
                    TOPIC, key=value["id"], value=json.dumps(value), partition=number % PARTITIONS
                )
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Return the rows per second of both, round by round, without the warm-up."""
    subjects: dict[str, Callable[[Bench, str], float]] = {"by-hand": by_hand, "milepost": milepost}
    rates: dict[str, list[float]] = {subject: [] for subject in subjects}
    for number in range(rounds + 1):
        # In alternating order, so that neither always runs after the other.
        order = list(subjects) if number % 2 else list(reversed(subjects))
        for subject in order:
            seconds = subjects[subject](bench, f"{subject}-{number}")
            rate = bench.records / seconds
            print(
                f"round {number} {subject:9} {rate:10,.0f} rows/s {'(warm-up)' if number == 0 else ''}",
                flush=True,
            )
            if number:
                rates[subject].append(rate)
    return rates


def main() -> int:
    """Run the comparison; exit 1 if Milepost is slower than the goal allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    try:
        with Services(directory / "services") as endpoints:
            produce(endpoints, options.records)
            log = directory / "log"
            spark = open_session("bench", spark_conf("local[2]", {"spark.driver.memory": "2g"}, log), log)
            try:
                bench = Bench(spark, endpoints, directory, options.records, max(options.records // 4, 1))
                rates = measure(bench, options.rounds)
            finally:
                close_session(spark)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    medians = {subject: statistics.median(values) for subject, values in rates.items()}
    ratio = medians["milepost"] / medians["by-hand"]
    for subject, median in medians.items():
        print(f"{subject:9} median {median:10,.0f} rows/s of {len(rates[subject])} rounds")
    print(f"ratio     {ratio:.3f} (goal {GOAL})")
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
