"""Measures how long a savepoint delays the stream: gaps between checkpoints, with and without savepoints.

A job with 1 GiB of state in RocksDB takes a checkpoint every second at 20,000 records/s. The benchmark measures the
time between two entries of Spark's commit log, first without savepoints, then while savepoints are taken one after
another. The state is that of a deduplication, not compressed; most of the records repeat an id.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame
from spine import percentile

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.supervisor import Job
from milepost.services import Endpoints, Services

TOPIC = "savepoint"
PARTITIONS = 2
KEY_BYTES = 1024
NEW_OF = 100
"""One in this many records has a new id."""
GOAL_S = 1.0


def main() -> int:
    """Measure, print, and return 0 if the goal is met."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--state-mib", type=int, default=1024)
    arguments.add_argument("--rate", type=int, default=20_000, help="records per second")
    arguments.add_argument("--seconds", type=float, default=40, help="of each of the two phases")
    given = arguments.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    try:
        with Services(directory / "services") as endpoints:
            return measure(endpoints, directory, given)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(endpoints: Endpoints, directory: Path, given: argparse.Namespace) -> int:
    """Fill the state, produce records, and compare."""
    keys, log = given.state_mib * 1024 * 1024 // KEY_BYTES, directory / "log"
    config = pipeline(endpoints, directory)
    produce(endpoints, keys)
    settings = session_settings(config) | {"spark.driver.memory": "3g"}
    with session("bench", spark_conf("local[2]", settings, log), log) as spark:
        spec = JobSpec(spark=spark, config=config, folder=directory, log=log, transformation=deduplicate)
        job = start_job(prepare_job(spec))
        driven = threading.Thread(target=job.wait, name="job", daemon=True)
        driven.start()
        try:
            wait_for_records(job, keys)
            wait_for_snapshot(directory, given.state_mib)
            with steady_records(endpoints, keys, given.rate):
                settle(given.seconds / 4)
                without = gaps(directory, given.seconds)
                taken: list[SavepointRun] = []
                ended = threading.Event()
                taking = threading.Thread(target=take_savepoints, args=(job, taken, ended), name="savepoints")
                taking.start()
                during = gaps(directory, given.seconds)
                ended.set()
                taking.join()
        finally:
            job.cancel()
            driven.join()
    print(f"{given.rate:,} records/s; savepoints of {', '.join(map(str, taken))}")
    print_gaps("without savepoints", without)
    print_gaps(f"with {len(taken)} savepoints", during)
    extra = max(during) - max(without)
    print(f"the longest gap with savepoints is {extra:+.2f} s beyond the longest without (goal: 1 s)")
    is_large = taken and min(each.mib for each in taken) >= given.state_mib
    return 0 if is_large and extra <= GOAL_S else 1


def pipeline(endpoints: Endpoints, directory: Path) -> Config:
    """Return a job whose state grows with the number of distinct ids."""
    return Config(
        name="savepoint-bench",
        source={
            "kafka": {
                "bootstrap-servers": endpoints.bootstrap_servers,
                "topics": [TOPIC],
                "start": "earliest",
                "format": "string",
                "max-offsets-per-trigger": 100_000,
            }
        },
        sink={
            "hbase": {
                "quorum": endpoints.quorum,
                "table": "savepoint",
                "row-key": ["id"],
                "columns": {"d": ["seen"]},
                "create-table": {"regions": PARTITIONS},
            }
        },
        checkpointing={
            "dir": str(directory / "job"),
            "savepoint-dir": str(directory / "savepoints"),
            "interval": "1s",
            "retained": 3,
        },
        spark={
            "conf": {
                "spark.sql.shuffle.partitions": 2,
                "spark.sql.streaming.stateStore.rocksdb.compression": "none",
                "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
            }
        },
    )


def deduplicate(records: DataFrame) -> DataFrame:
    """Return the records with a new id; the state keeps a kilobyte for each."""
    key = f"rpad(value, {KEY_BYTES}, '.') AS key"
    keyed = records.selectExpr("value AS id", "true AS seen", key, "_kafka")
    return keyed.dropDuplicates(["key"])


def produce(endpoints: Endpoints, keys: int) -> None:
    """Create the topic with one record per id."""
    admin = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS, replication_factor=1)])[TOPIC].result(60)
    producer = Producer({"bootstrap.servers": endpoints.bootstrap_servers, "linger.ms": 50})
    for key in range(keys):
        send(producer, key, key)
    producer.flush(120)


@contextmanager
def steady_records(endpoints: Endpoints, keys: int, rate: int) -> Iterator[None]:
    """Send records at a steady rate while the block runs; one in `NEW_OF` has a new id."""
    ended = threading.Event()
    producer = Producer({"bootstrap.servers": endpoints.bootstrap_servers, "linger.ms": 20})

    def send_records() -> None:
        number, began = 0, time.monotonic()
        while not ended.wait(max(0.0, number / rate - (time.monotonic() - began))):
            for _ in range(rate // 50):
                key = keys + number if number % NEW_OF == 0 else number * 7919 % keys
                send(producer, key, number)
                number += 1

    thread = threading.Thread(target=send_records, name="records")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.flush(60)


def send(producer: Producer, key: int, number: int) -> None:
    """Send one record; the id is its value."""
    while True:
        try:
            producer.produce(TOPIC, value=str(key), partition=number % PARTITIONS)
            return
        except BufferError:
            producer.poll(0.1)


def wait_for_records(job: Job, records: int) -> None:
    """Wait until the job has read this many records."""
    while sum(sum(parts.values()) for parts in job.progress().position.values()) < records:
        if job.status.is_terminal:
            raise job.error or RuntimeError(f"the job is {job.status.value}")
        time.sleep(0.5)


def wait_for_snapshot(directory: Path, mib: int) -> None:
    """Wait until RocksDB's files are in the checkpoint directory; changelog files are small and compressed."""
    state = directory / "job" / "state"
    while sum(path.stat().st_size for path in state.glob("*/*/SSTs/*.sst")) < mib * 2**20:
        time.sleep(0.5)


def settle(seconds: float) -> None:
    """Wait until the rate is steady."""
    time.sleep(seconds)


def gaps(directory: Path, seconds: float) -> list[float]:
    """Return the times between the commits of the next seconds."""
    commits, seen, ends = Layout(directory / "job").commits, {}, time.monotonic() + seconds
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    while time.monotonic() < ends:
        path = commits / str(newest + 1)
        if path.is_file():
            newest += 1
            seen[newest] = path.stat().st_mtime
        else:
            time.sleep(0.01)
    times = sorted(seen.values())
    return [later - earlier for earlier, later in pairwise(times)]


class SavepointRun(NamedTuple):
    """A savepoint: its size, and the time from the request to its completion."""

    mib: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.mib:,.0f} MiB in {self.seconds:.1f} s"


def take_savepoints(job: Job, taken: list[SavepointRun], ended: threading.Event) -> None:
    """Take savepoints one after another, two seconds apart."""
    while not ended.wait(2):
        began = time.monotonic()
        size = job.trigger_savepoint().result(120).size
        taken.append(SavepointRun(size / 2**20, time.monotonic() - began))


def print_gaps(what: str, values: list[float]) -> None:
    """Print the lengths of the gaps."""
    print(
        f"{what}: {len(values)} gaps, p50 {percentile(values, 0.5):.2f} s, p90 {percentile(values, 0.9):.2f} s, "
        f"p99 {percentile(values, 0.99):.2f} s, max {max(values):.2f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
