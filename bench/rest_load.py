"""Measures the cost of a flood of requests: rows per second of one job, with and without it, window by window.

One job processes a backlog as fast as it can. The flood (flood.py) runs in every second pair of windows: quiet, flood,
flood, quiet, and so on. HBase's flushes and garbage collections change the rate by more than the flood does, so there
are many short windows, each flooded one is compared with the adjacent quiet one, and the mean has a standard error.
The rate of a window is the rate between its first and its last commit. The flood runs on the same machine, and its own
CPU time is part of the cost.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from calm import CALM
from commits import Commit, read_commits, steady_rate
from throughput import TOPIC, Bench, produce

from milepost.checkpoint.store.layout import Layout
from milepost.config import Rest
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.rest.server.server import Listener, serve_job
from milepost.services import Services

GOAL = 0.10
WARM_UP_S = 20.0
PER_TRIGGER = 50_000
SETTLE_S = 1.0
"""Time from the start of a window to the first commit that counts; the batch before it began in another window."""


@dataclass(frozen=True)
class Window:
    """A period with or without the flood."""

    is_flooded: bool
    since: float
    until: float


class Rate(NamedTuple):
    """The rows per second of a window."""

    is_flooded: bool
    rows: float


@dataclass
class Flood:
    """The flood process, which a line on its stdin starts or stops."""

    process: subprocess.Popen[str]
    is_on: bool = False

    def switch(self, is_on: bool) -> None:
        """Start or stop the flood."""
        if is_on != self.is_on:
            assert self.process.stdin is not None
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.is_on = is_on


@contextmanager
def flood(url: str, token: str, path: str) -> Iterator[Flood]:
    """Start the flood process, and print its counts at the end."""
    script = Path(__file__).with_name("flood.py")
    command = [sys.executable, str(script), url.rpartition(":")[2], token, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        flood = Flood(process)
        try:
            yield flood
        finally:
            flood.switch(False)
            print(process.communicate()[0])


@dataclass
class Schedule:
    """Switches the flood on and off, window by window."""

    flood: Flood
    length: float
    windows: list[Window] = field(default_factory=list)
    _since: float = field(default_factory=lambda: time.time() + WARM_UP_S)

    def advance(self, _: object) -> None:
        """Start the next window if the current one is over."""
        now = time.time()
        if now >= self._since + self.length:
            self.windows.append(Window(self.flood.is_on, self._since, now))
            self._since = now
            self.flood.switch(len(self.windows) % 4 in (1, 2))


def rate(commits: list[Commit], window: Window) -> Rate:
    """Return the rate between the first and the last commit of a window."""
    inside = [each for each in commits if window.since + SETTLE_S <= each.at <= window.until]
    return Rate(window.is_flooded, steady_rate(inside))


def run(bench: Bench, length: float) -> list[Rate]:
    """Process the backlog, and return the rates of the windows."""
    config = bench.config("rest-load")
    spec = JobSpec(spark=bench.spark, config=config, folder=bench.directory, log=bench.directory / "log")
    prepared = prepare_job(spec)
    with Listener.open(Rest(bind="127.0.0.1:0")) as listener:
        job = start_job(prepared)
        with (
            serve_job(listener, job, config) as address,
            flood(address.url, address.token, f"/jobs/{job.job_id}/status") as process,
        ):
            schedule = Schedule(process, length)
            status = job.wait(schedule.advance)
    if status is not JobStatus.FINISHED:
        raise SystemExit(f"the job ended as {status.value}")
    commits = read_commits(Layout(bench.directory / "rest-load"), TOPIC)
    return [rate(commits, window) for window in schedule.windows]


def costs(rates: list[Rate]) -> list[float]:
    """Return for each flooded window the share of the rate that it lost to the adjacent quiet one."""
    lost = []
    for pair in zip(rates[::2], rates[1::2], strict=False):
        quiet, flooded = sorted(pair)
        lost.append(1 - flooded.rows / quiet.rows)
    return lost


def main() -> int:
    """Run the comparison; exit 1 if the flood costs more than the goal allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--window", type=float, default=5.0, help="seconds")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-rest-load-"))
    try:
        with Services(directory / "services", settings=CALM) as endpoints:
            produce(endpoints, options.records)
            log = directory / "log"
            # The commits of all windows are read at the end.
            settings = {"spark.driver.memory": "2g", "spark.sql.streaming.minBatchesToRetain": "100000"}
            with session("rest-load", spark_conf("local[2]", settings, log), log) as spark:
                bench = Bench(spark, endpoints, directory, options.records, PER_TRIGGER)
                rates = run(bench, options.window)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for name, is_flooded in (("quiet", False), ("flood", True)):
        print(name, *(f"{each.rows:,.0f}" for each in rates if each.is_flooded is is_flooded))
    each = costs(rates)
    cost, error = statistics.mean(each), statistics.stdev(each) / len(each) ** 0.5
    print(f"cost of the flood: {cost:.1%} ± {error:.1%} ({len(each)} pairs); goal: less than {GOAL:.0%}")
    return 0 if cost < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
