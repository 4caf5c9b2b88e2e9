"""`milepost demo exactly-once`: kills a running job and verifies that nothing is missing or duplicated."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from milepost.config import load_config
from milepost.demo.driver import Driver, JobPosition, read_position
from milepost.demo.environment import (
    DemoEnvironment,
    DemoOptions,
    demo_environment,
    verify_table,
)
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import events
from milepost.errors import JobFailedError
from milepost.verify import Report

PARTITIONS = 4

_BACKLOG_SHARE = 0.5
_CHECKPOINTS = 24
_LIVE_SECONDS = 40
_MIN_RATE = 2500
_START_TIMEOUT = 180.0
_CATCH_UP_TIMEOUT = 300.0
_STOP_TIMEOUT = 90.0
_MAX_DELAY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOnce(DemoOptions):
    """The options of the demo: the number of records and kills, and the seed of the records."""

    records: int = 240_000
    kills: int = 2
    seed: int = 7


def run(demo: ExactlyOnce) -> Report:
    """Run the demo from the start of the services to the comparison; all processes are stopped at the end.

    Raises VerificationError, after printing examples, if the table differs from the log.
    """
    with demo_environment(demo, "orders") as environment:
        pipeline = write_pipeline(environment, demo)
        live = LiveProducer(
            environment.endpoints.bootstrap_servers, environment.name, events(demo.records, demo.seed)
        )
        try:
            _produce_backlog(demo, environment, live)
            _run_with_kills(demo, environment, live, pipeline)
            demo.say(
                f"{4 + demo.kills}. Comparing the table with the log, "
                "with a checker that shares no code with the sink"
            )
            return verify_table(demo, load_config(pipeline), environment.folder)
        finally:
            live.close()


def write_pipeline(environment: DemoEnvironment, demo: ExactlyOnce) -> Path:
    """Write the pipeline, and return its file."""
    limit = max(1, demo.records // _CHECKPOINTS)
    source = {"start": "earliest", "max-offsets-per-trigger": limit}
    return environment.write_pipeline("exactly-once", source=source, interval="1s")


def _produce_backlog(demo: ExactlyOnce, environment: DemoEnvironment, live: LiveProducer) -> None:
    backlog = int(demo.records * _BACKLOG_SHARE)
    demo.say(f"2. Producing {backlog:,} upserts and deletes into {PARTITIONS} partitions")
    create_topic(environment.endpoints.bootstrap_servers, environment.name, PARTITIONS)
    live.send(backlog)
    rest = demo.records - backlog
    demo.say(f"   the other {rest:,} are produced while the job runs")
    live.start(max(rest / _LIVE_SECONDS, _MIN_RATE))


def _run_with_kills(
    demo: ExactlyOnce, environment: DemoEnvironment, live: LiveProducer, pipeline: Path
) -> None:
    """Run the job, kill it several times, let it catch up, and stop it cleanly."""
    layout = environment.layout
    choose = random.Random(demo.seed)
    for kill in range(demo.kills):
        demo.say(f"{3 + kill}. Running `milepost run pipeline.yaml` and killing it")
        goal = demo.records * (kill + 1) // (demo.kills + 1)
        with Driver(pipeline, environment.folder / f"run-{kill + 1}.log", layout) as driver:
            position = _kill_in_mid_flight(driver, goal, choose)
        demo.say(f"   {_kill_line(demo, position, read_position(layout))}")
    demo.say(f"{3 + demo.kills}. Running it again until it has caught up")
    began = time.monotonic()
    with Driver(pipeline, environment.folder / "run-last.log", layout) as driver:
        done = driver.wait_until(
            lambda position: live.is_done and position.records >= live.sent,
            f"all {demo.records:,} records were in a checkpoint",
            timeout=_CATCH_UP_TIMEOUT,
        )
        demo.say(f"   caught up at checkpoint {done.completed} after {time.monotonic() - began:.0f} s")
        code = driver.stop(timeout=_STOP_TIMEOUT)
        if code != 0:
            raise JobFailedError(f"The job ended with exit code {code} on Ctrl-C", why=f"see {driver.log}")
        demo.say("   stopped with Ctrl-C at a boundary")


def _kill_in_mid_flight(driver: Driver, goal: int, choose: random.Random) -> JobPosition:
    """Kill the job inside a checkpoint that has started and is not completed, with earlier rows in the table.

    A batch is short; the kill comes at a random point of it, while it is still in flight.
    """
    pause = threading.Event()
    delay = choose.uniform(0, _MAX_DELAY)
    while True:
        position = driver.wait_until(
            lambda s: s.records >= goal and s.completed is not None and s.in_flight is not None,
            f"{goal:,} records were in checkpoints and another one had started",
            timeout=_START_TIMEOUT,
        )
        pause.wait(delay)
        if read_position(driver.layout).in_flight == position.in_flight:
            driver.kill()
            return position
        # That batch ended too soon. On a fast machine all of them do, so the next one gets less time.
        delay /= 4


def _kill_line(demo: ExactlyOnce, seen: JobPosition, left: JobPosition) -> str:
    checkpoint = (
        f"in the middle of checkpoint {left.in_flight}"
        if left.in_flight is not None
        else f"just after checkpoint {left.completed}"
    )
    return (
        f"killed with SIGKILL {checkpoint}; checkpoint {left.completed} is the newest completed one, "
        f"with {max(seen.records, left.records):,} of {demo.records:,} records"
    )
