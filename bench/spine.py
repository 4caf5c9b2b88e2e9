"""Measures the cost of the checkpoint coordinator: batch time compared with plain Spark, and the trigger latency.

The same fifty batches run in three ways, one after another; the first round is a warm-up: the query written by hand on
Spark's own Kafka source, our source and sink without a coordinator, and Milepost. The batch time is the time between
two entries of Spark's commit log, so it excludes start and stop.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from throughput import Bench, by_hand, milepost, produce

from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.engine import java_map, jvm
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.services import Endpoints, Services

BATCHES = 50
OVERHEAD_GOAL = 1.03
GATE_GOAL_MS = 150
REQUEST_GOAL_MS = 200


def main() -> int:
    """Measure, print, and return 0 if every goal is met."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows-per-batch", type=int, default=2000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--requests", type=int, default=100)
    given = arguments.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-bench-"))
    services = Services(directory / "services")
    try:
        with services as endpoints:
            produce(endpoints, given.rows_per_batch * BATCHES)
            return measure(endpoints, directory, given)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(endpoints: Endpoints, directory: Path, given: argparse.Namespace) -> int:
    """Run everything in one session; all three use our checkpoint files, so that only the coordinator differs."""
    log, rows = directory / "log", given.rows_per_batch
    nowhere: Any = None
    any_config = Bench(nowhere, endpoints, directory, 0, rows).config("any")
    settings = session_settings(any_config) | {"spark.driver.memory": "2g"}
    with session("bench", spark_conf("local[2]", settings, log), log) as spark:
        bench = Bench(spark, endpoints, directory, rows * BATCHES, rows)
        ok = overhead(bench, given.rounds)
        return 0 if latency(bench, given.requests) and ok else 1


def overhead(bench: Bench, rounds: int) -> bool:
    """Compare the batch times."""
    ways = {"plain Spark": by_hand, "no coordinator": without_coordinator, "Milepost": milepost}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, run in ways.items():
            label = f"{name.replace(' ', '-')}-{number}"
            run(bench, label)
            taken = batch_ms(bench.directory / label)
            print(f"round {number}: {name:>15} {taken:7.1f} ms per batch" + ("" if number else " (warm-up)"))
            if number:
                times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name in ("plain Spark", "no coordinator"):
        print(f"batch time, Milepost / {name}: {medians['Milepost'] / medians[name]:.3f}")
    return medians["Milepost"] <= OVERHEAD_GOAL * medians["plain Spark"]


def batch_ms(directory: Path) -> float:
    """Return the mean time between two commits of a run in milliseconds."""
    commits = Layout(directory).commits
    written = sorted(path.stat().st_mtime_ns for path in commits.iterdir() if path.name.isdigit())
    return (written[-1] - written[0]) / (len(written) - 1) / 1e6


def without_coordinator(bench: Bench, name: str) -> None:
    """Run the same pipeline on our engine alone: the gate is open, and the seal asks no coordinator."""
    folder = bench.directory
    prepared = prepare_job(
        JobSpec(spark=bench.spark, config=bench.config(name), folder=folder, log=folder / "log")
    )
    families = jvm(bench.spark).java.util.ArrayList()
    families.add("d")
    inspector = jvm(bench.spark).io.milepost.hbase.table.HBaseInspector
    inspector.createTable(
        java_map(bench.spark, prepared.query.sink_options), families, java_map(bench.spark, {}), 4
    )
    prepared.engine_job.gate().free()
    query = (
        prepared.query.rows.writeStream.format("milepost-hbase")
        .options(**prepared.query.sink_options)
        .option("checkpointLocation", str(folder / name))
        .outputMode("update")
        .trigger(processingTime="0 seconds")
        .start()
    )
    while not prepared.engine_job.isFinished():
        time.sleep(0.05)
    query.stop()


def latency(bench: Bench, requests: int) -> bool:
    """Request checkpoints of an idle job, and measure the time until the gate admits each."""
    bounded, folder = bench.config("latency"), bench.directory
    source = next(iter(bounded.views.values())).model_copy(update={"stop": "never"})
    checkpointing = {"dir": bounded.checkpointing.dir, "interval": "1h"}
    config = Config(name="latency", source=source, sink=bounded.sink, checkpointing=checkpointing)
    prepared = prepare_job(JobSpec(spark=bench.spark, config=config, folder=folder, log=folder / "log"))
    job = start_job(prepared)
    try:
        gate = prepared.engine_job.gate()
        job.trigger_checkpoint().result(120)
        started, waited, completed = [], [], []
        for _ in range(requests):
            # At a random point of the engine's idle loop: right after a completion the next poll is near.
            time.sleep(random.uniform(0.05, 0.4))
            wall, clock = time.time() * 1000, time.monotonic()
            job.trigger_checkpoint().result(60)
            completed.append((time.monotonic() - clock) * 1000)
            started.append(gate.admittedAt() - wall)
            waited.append(gate.waitedMs())
    finally:
        job.abandon()
    for what, values in (
        ("request to gate", started),
        ("trigger to gate", waited),
        ("request to completion", completed),
    ):
        print(
            f"{what}: p50 {percentile(values, 0.5):.0f} ms, p99 {percentile(values, 0.99):.0f} ms, "
            f"max {max(values):.0f} ms"
        )
    return percentile(waited, 0.99) <= GATE_GOAL_MS and percentile(started, 0.99) <= REQUEST_GOAL_MS


def percentile(values: list[float], quantile: float) -> float:
    """Return the value at a quantile."""
    return sorted(values)[min(int(quantile * len(values)), len(values) - 1)]


if __name__ == "__main__":
    sys.exit(main())
