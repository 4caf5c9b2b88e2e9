"""Rows per second while a backlog is worked off: HBase's own client, and Milepost with bulk-load and auto, in one run.

Every subject writes the same rows into a fresh table of the same embedded HBase, one subject after the other and
alternating; the first round warms up and is not counted. Milepost's time is from the start of the job to its end: the
records are read from Kafka, decoded from JSON, sorted, written to HFiles and loaded. The plain client has its rows in
memory: it is the ceiling of mutations. With --services the records stay in a Kafka that runs already, for the next run.
CPU seconds are those of the writing process, of Kafka and of HBase, up to the end of the run: they tell more than the
rate where the machine is not idle. What HBase compacts later is not in them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sink
from confluent_kafka.admin import AdminClient
from sink import Bench

from milepost.engine import jvm
from milepost.job.launch import session_settings
from milepost.job.session import session, spark_conf
from milepost.services import Endpoints, Services

GOAL = 2.0
CEILING = sink.CEILING
MILLION = 1_000_000


@dataclass(frozen=True)
class Measure:
    """What one run of one subject gave: its rate, and CPU seconds per million rows of each process."""

    rate: float
    cpu: Mapping[str, float]

    def line(self, subject: str) -> str:
        """Return the figures for people."""
        cpu = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.cpu.items())
        return f"{subject:13} {self.rate:10,.0f} rows/s, CPU s per million rows: {cpu}"


# ---- the subjects: each fills a table of this name and returns the seconds ----


def plain_client(bench: Bench, name: str) -> float:
    """Put the rows with HBase's own client."""
    return bench.records / sink.plain_client(bench, name)


def backlog(write: str) -> Callable[[Bench, str], float]:
    """Return what runs the pipeline to its end."""

    def run(bench: Bench, name: str) -> float:
        config = replace(bench, sink={"write": write}).config(name, {"stop": "latest"}, {"interval": 0})
        ready = sink.recipe(bench, config).prepare()
        started = time.monotonic()
        job = ready.start()
        status = job.wait()
        seconds = time.monotonic() - started
        if status.value != "FINISHED":
            raise SystemExit(f"the job ended as {status.value}: {job.error}")
        return seconds

    return run


SUBJECTS = {CEILING: plain_client, "bulk-load": backlog("bulk-load"), "auto": backlog("auto")}


def measured(bench: Bench, subject: str, name: str, services: Mapping[str, int]) -> Measure:
    """Run one subject."""
    writer = (
        bench.client.pid if subject == CEILING else jvm(bench.spark).java.lang.ProcessHandle.current().pid()
    )
    pids = {"writer": int(writer), **services}
    before = {process: sink.cpu_seconds(pid) for process, pid in pids.items()}
    seconds = SUBJECTS[subject](bench, name)
    million = bench.records / MILLION
    cpu = {process: (sink.cpu_seconds(pid) - before[process]) / million for process, pid in pids.items()}
    sink.ask(bench.client, f"drop {name}")  # its flushes and compactions are nobody else's
    return Measure(bench.records / seconds, cpu)


def run(
    bench: Bench, subjects: list[str], rounds: int, services: Mapping[str, int]
) -> dict[str, list[Measure]]:
    """Return the measures of every subject, round by round; the warm-up is not among them."""
    measures: dict[str, list[Measure]] = {subject: [] for subject in subjects}
    for number in range(rounds + 1):
        # Turn about, so that none always runs on the caches of the same other.
        for subject in subjects if number % 2 else reversed(subjects):
            measure = measured(bench, subject, f"backlog-{subject}-{number}", services)
            print(f"round {number} {measure.line(subject)}{'' if number else ' (warm-up)'}", flush=True)
            if number:
                measures[subject].append(measure)
    return measures


@contextmanager
def filled_services(options: argparse.Namespace, directory: Path) -> Iterator[tuple[Endpoints, Services]]:
    """Bring up Kafka and HBase with the records in it, or take those that run."""
    services = Services(options.services or directory / "services")
    if options.services is None:
        with services as endpoints:
            sink.produce(endpoints, options.records, options.keys)
            yield endpoints, services
        return
    endpoints = services.up()
    sink.TOPIC = f"backlog-{options.keys}-{options.records}"
    topics = AdminClient({"bootstrap.servers": endpoints.bootstrap_servers}).list_topics(timeout=10).topics
    if sink.TOPIC not in topics:
        sink.produce(endpoints, options.records, options.keys)
    yield endpoints, services


def main() -> int:
    """Run the comparison; exit 1 where the best of Milepost's misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000, help="a trial may do with 500000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help=", ".join(SUBJECTS))
    parser.add_argument("--keys", choices=["ordered", "hashed"], default="ordered")
    parser.add_argument("--services", type=Path, help="directory of services that already run, and go on")
    parser.add_argument("--java", default="", help="options of the JVM of Spark, for a profile")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    nowhere: Any = None
    try:
        with (
            filled_services(options, directory) as (endpoints, services),
            sink.plain_client_process(endpoints, directory) as client,
        ):
            bench = Bench(nowhere, endpoints, directory, options.records, 0, client, options.keys, {})
            settings = session_settings(bench.config("any", {}, {})) | {"spark.driver.memory": "2g"}
            if options.java:
                settings["spark.driver.extraJavaOptions"] = options.java
            log = directory / "log"
            with session("bench", spark_conf(f"local[{sink.PARTITIONS}]", settings, log), log) as spark:
                pids = {each.name: each.pid or 0 for each in services.status()}
                subjects = options.subjects.split(",")
                measures = run(replace(bench, spark=spark), subjects, options.rounds, pids)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    medians = {
        subject: statistics.median(each.rate for each in values)
        for subject, values in measures.items()
        if values
    }
    for subject, median in medians.items():
        print(f"median  {subject:13} {median:10,.0f} rows/s of {options.rounds} rounds")
    if CEILING not in medians or len(medians) == 1:
        return 0
    ratio = max(rate for subject, rate in medians.items() if subject != CEILING) / medians[CEILING]
    print(f"ratio   {ratio:.2f} (goal {GOAL})")
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
