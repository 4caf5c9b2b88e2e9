"""`milepost demo exactly-once`: kills a running job and proves that nothing was lost or counted twice."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import yaml

from milepost.checkpoint.layout import Layout
from milepost.config import load_config
from milepost.demo.driver import Driver, Standing, look
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import SCHEMA, events
from milepost.errors import JobFailedError
from milepost.job.session import session, spark_conf
from milepost.services import Services
from milepost.verify import Report, verify_pipeline

PARTITIONS = 4
REGIONS = 4
TOPIC = "orders"
TABLE = "orders"

_BACKLOG_SHARE = 0.5
_CHECKPOINTS = 24
_LIVE_SECONDS = 40
_SLOWEST_RATE = 2500
_START_TIMEOUT = 180.0
_CATCH_UP_TIMEOUT = 300.0
_STOP_TIMEOUT = 90.0
_LONGEST_DELAY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the demo does: how much, how often it kills, and the seed that makes it repeatable."""

    records: int = 240_000
    kills: int = 2
    seed: int = 7
    keep: bool = False
    say: Callable[[str], None] = field(default=print)
    """Takes a line of the story."""
    warn: Callable[[str], None] = field(default=print)
    """Takes a line beside the story."""


def run(story: Story) -> Report:
    """Tell the story from the start of the services to the comparison; whatever was started is ended.

    Raises VerificationError, after the examples were told, where the table is not what the log says.
    """
    began = time.monotonic()
    with _ended_by_signals(), _workspace(story) as folder, _services(story, folder) as endpoints:
        pipeline = write_pipeline(folder, story, *endpoints)
        live = LiveProducer(endpoints[0], TOPIC, events(story.records, story.seed))
        try:
            _produce_backlog(story, endpoints[0], live)
            _survive(story, folder, live, pipeline)
            report = _prove(story, pipeline, folder)
        finally:
            live.close()
        if not report.is_verified:
            for line in report.lines():
                story.say(line)
            raise report.error()
    story.say(f"Everything is stopped and cleaned up, after {time.monotonic() - began:.0f} s")
    return report


def write_pipeline(folder: Path, story: Story, bootstrap_servers: str, quorum: str) -> Path:
    """Write the pipeline a user would write, and return its file."""
    document = {
        "name": "exactly-once",
        "source": {
            "kafka": {
                "bootstrap-servers": bootstrap_servers,
                "topics": [TOPIC],
                "start": "earliest",
                "format": "json",
                "schema": SCHEMA,
                "max-offsets-per-trigger": max(1, story.records // _CHECKPOINTS),
            }
        },
        "sink": {
            "hbase": {
                "quorum": quorum,
                "table": TABLE,
                "row-key": ["id"],
                "columns": {"d": ["customer", "amount", "seq"]},
                "op": "op",
                "create-table": {"regions": REGIONS},
            }
        },
        "checkpointing": {"dir": str(folder / "checkpoint"), "interval": "1s"},
        "spark": {"master": "local[2]"},
    }
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


@contextmanager
def _workspace(story: Story) -> Iterator[Path]:
    """Give a folder for everything; it goes away unless something failed or it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="milepost-demo-")).resolve()
    try:
        yield folder
    except BaseException as error:
        # Whoever interrupts the demo has seen enough; whoever sees it fail wants to know why.
        _leave(folder, story, is_kept=story.keep or isinstance(error, Exception))
        raise
    _leave(folder, story, is_kept=story.keep)


def _leave(folder: Path, story: Story, *, is_kept: bool) -> None:
    if is_kept:
        story.warn(f"Logs, checkpoints and data are kept in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that nothing started stays behind."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _services(story: Story, folder: Path) -> Iterator[tuple[str, str]]:
    story.say("1. Starting a real Kafka and a real HBase")
    began = time.monotonic()
    services = Services(folder / "services")
    with services as endpoints:
        story.say(
            f"   Kafka at {endpoints.bootstrap_servers}, HBase at {endpoints.quorum}, "
            f"ready in {time.monotonic() - began:.0f} s"
        )
        yield endpoints.bootstrap_servers, endpoints.quorum


def _produce_backlog(story: Story, bootstrap_servers: str, live: LiveProducer) -> None:
    backlog = int(story.records * _BACKLOG_SHARE)
    story.say(f"2. Producing {backlog:,} upserts and deletes into {PARTITIONS} partitions")
    create_topic(bootstrap_servers, TOPIC, PARTITIONS)
    live.send(backlog)
    rest = story.records - backlog
    story.say(f"   the other {rest:,} are produced while the job runs")
    live.start(max(rest / _LIVE_SECONDS, _SLOWEST_RATE))


def _survive(story: Story, folder: Path, live: LiveProducer, pipeline: Path) -> None:
    """Run the job, kill it as often as the story says, let it catch up, stop it cleanly."""
    layout = Layout(folder / "checkpoint")
    choose = random.Random(story.seed)
    for kill in range(story.kills):
        story.say(f"{3 + kill}. Running `milepost run pipeline.yaml`, to be killed")
        goal = story.records * (kill + 1) // (story.kills + 1)
        with _driver(pipeline, folder / f"run-{kill + 1}.log", layout) as driver:
            standing = _kill_in_mid_flight(driver, goal, choose)
        story.say(f"   {_killed(story, standing, look(layout))}")
    story.say(f"{3 + story.kills}. Running it again, until it has caught up")
    began = time.monotonic()
    with _driver(pipeline, folder / "run-last.log", layout) as driver:
        done = driver.wait_until(
            lambda standing: live.is_done and standing.records >= live.sent,
            f"all {story.records:,} records were in a checkpoint",
            timeout=_CATCH_UP_TIMEOUT,
        )
        story.say(f"   caught up at checkpoint {done.completed} after {time.monotonic() - began:.0f} s")
        code = driver.stop(timeout=_STOP_TIMEOUT)
        if code != 0:
            raise JobFailedError(f"The job ended with exit code {code} on Ctrl-C", why=f"see {driver.log}")
        story.say("   stopped with Ctrl-C at a boundary")


@contextmanager
def _driver(pipeline: Path, log: Path, layout: Layout) -> Iterator[Driver]:
    driver = Driver(pipeline, log, layout)
    try:
        yield driver
    finally:
        driver.kill()


def _kill_in_mid_flight(driver: Driver, goal: int, choose: random.Random) -> Standing:
    """Kill the job inside a checkpoint: begun and not complete, with rows of earlier ones in the table.

    A batch lasts a moment; the kill comes at a random point of it, while it is still seen to be in flight.
    """
    pause = threading.Event()
    delay = choose.uniform(0, _LONGEST_DELAY)
    while True:
        standing = driver.wait_until(
            lambda s: s.records >= goal and s.completed is not None and s.in_flight is not None,
            f"{goal:,} records were in checkpoints and another had begun",
            timeout=_START_TIMEOUT,
        )
        pause.wait(delay)
        if look(driver.layout).in_flight == standing.in_flight:
            driver.kill()
            return standing
        # That batch was over too soon; on a fast machine they all are, so the next is given less time.
        delay /= 4


def _killed(story: Story, seen: Standing, left: Standing) -> str:
    checkpoint = (
        f"in the middle of checkpoint {left.in_flight}"
        if left.in_flight is not None
        else f"just after checkpoint {left.completed}"
    )
    return (
        f"killed with SIGKILL {checkpoint}; checkpoint {left.completed} is the newest complete one, "
        f"with {max(seen.records, left.records):,} of {story.records:,} records"
    )


def _prove(story: Story, pipeline: Path, folder: Path) -> Report:
    story.say(
        f"{4 + story.kills}. Comparing the table with the log, by a checker that shares no code with the sink"
    )
    began = time.monotonic()
    config = load_config(pipeline)
    log = folder / "verify.log"
    conf = spark_conf(config.spark.master, config.spark.conf, log)
    with session("verify", conf, log) as spark:
        report = verify_pipeline(config, spark, say=lambda line: story.say(f"   {line}"))
    story.say(f"   compared in {time.monotonic() - began:.0f} s, Spark's start included")
    return report
