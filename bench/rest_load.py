"""What a flood of requests costs the stream: rows per second of one job, without and with it, window by window.

One job works off a backlog as fast as it can. The flood (flood.py) runs in every second pair of windows: quiet, flood,
flood, quiet, and so on. HBase's flushes and collections move the rate by more than the flood does, so windows are
short and many, each flooded one is held against the quiet one beside it, and the mean is given with its standard error.
The rate of a window is that between its first commit and its last. The flood runs on the same machine, and what it uses
of the processor itself is part of the cost.
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
from commits import Commit, committed, steady_rate
from throughput import TOPIC, Bench, produce

from milepost.checkpoint.store.layout import Layout
from milepost.config import Rest
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spec import JobSpec
from milepost.job.status import JobStatus
from milepost.rest.server.server import Listener, serving
from milepost.services import Services

GOAL = 0.10
WARM_UP_S = 20.0
PER_TRIGGER = 50_000
SETTLE_S = 1.0
"""Between a window's begin and the first commit that counts: the batch before it was another window's."""


@dataclass(frozen=True)
class Window:
    """A time in which the flood did or did not run."""

    is_flooded: bool
    since: float
    until: float


class Rate(NamedTuple):
    """Rows per second of a window."""

    is_flooded: bool
    rows: float


@dataclass
class Flood:
    """The process that floods, which begins and ends by a line each."""

    process: subprocess.Popen[str]
    is_on: bool = False

    def turn(self, is_on: bool) -> None:
        """Begin or end it."""
        if is_on != self.is_on:
            assert self.process.stdin is not None
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.is_on = is_on


@contextmanager
def flood(url: str, token: str, path: str) -> Iterator[Flood]:
    """Start the process that floods; at the end print what it counted."""
    script = Path(__file__).with_name("flood.py")
    command = [sys.executable, str(script), url.rpartition(":")[2], token, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        flood = Flood(process)
        try:
            yield flood
        finally:
            flood.turn(False)
            print(process.communicate()[0])


@dataclass
class Turns:
    """Who has which window."""

    flood: Flood
    length: float
    windows: list[Window] = field(default_factory=list)
    _since: float = field(default_factory=lambda: time.time() + WARM_UP_S)

    def look(self, _: object) -> None:
        """Begin the next window where the last one is over."""
        now = time.time()
        if now >= self._since + self.length:
            self.windows.append(Window(self.flood.is_on, self._since, now))
            self._since = now
            self.flood.turn(len(self.windows) % 4 in (1, 2))


def rate(commits: list[Commit], window: Window) -> Rate:
    """Return the rate between the first and the last commit of a window."""
    inside = [each for each in commits if window.since + SETTLE_S <= each.at <= window.until]
    return Rate(window.is_flooded, steady_rate(inside))


def run(bench: Bench, length: float) -> list[Rate]:
    """Work the backlog off and return the rates of the windows."""
    config = bench.config("rest-load")
    spec = JobSpec(spark=bench.spark, config=config, folder=bench.directory, log=bench.directory / "log")
    ready = prepare_job(spec)
    with Listener.open(Rest(bind="127.0.0.1:0")) as listener:
        job = ready.start()
        with (
            serving(listener, job, config) as address,
            flood(address.url, address.token, f"/jobs/{job.job_id}/status") as process,
        ):
            turns = Turns(process, length)
            status = job.wait(turns.look)
    if status is not JobStatus.FINISHED:
        raise SystemExit(f"the job ended as {status.value}")
    commits = committed(Layout(bench.directory / "rest-load"), TOPIC)
    return [rate(commits, window) for window in turns.windows]


def costs(rates: list[Rate]) -> list[float]:
    """Return for each flooded window the share that it lost against the quiet one beside it."""
    lost = []
    for pair in zip(rates[::2], rates[1::2], strict=False):
        quiet, flooded = sorted(pair)
        lost.append(1 - flooded.rows / quiet.rows)
    return lost


def main() -> int:
    """Run the comparison; exit 1 where the flood costs more than the goal allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--window", type=float, default=5.0, help="seconds")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="milepost-rest-load-"))
    try:
        with Services(directory / "services", settings=CALM) as endpoints:
            produce(endpoints, options.records)
            log = directory / "log"
            # The commits of all windows are looked at in the end.
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
