"""`milepost demo exactly-once`: kills a running job and proves that nothing was lost or counted twice."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from milepost.config import load_config
from milepost.demo.driver import Driver, Standing, look
from milepost.demo.environment import (
    Stage,
    Story,
    prove,
    staged,
)
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import events
from milepost.errors import JobFailedError
from milepost.verify import Report

PARTITIONS = 4

_BACKLOG_SHARE = 0.5
_CHECKPOINTS = 24
_LIVE_SECONDS = 40
_SLOWEST_RATE = 2500
_START_TIMEOUT = 180.0
_CATCH_UP_TIMEOUT = 300.0
_STOP_TIMEOUT = 90.0
_LONGEST_DELAY = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOnce(Story):
    """What the demo does: how much, how often it kills, and the seed that makes it repeatable."""

    records: int = 240_000
    kills: int = 2
    seed: int = 7


def run(story: ExactlyOnce) -> Report:
    """Tell the story from the start of the services to the comparison; whatever was started is ended.

    Raises VerificationError, after the examples were told, where the table is not what the log says.
    """
    with staged(story, "orders") as stage:
        pipeline = write_pipeline(stage, story)
        live = LiveProducer(stage.endpoints.bootstrap_servers, stage.name, events(story.records, story.seed))
        try:
            _produce_backlog(story, stage, live)
            _survive(story, stage, live, pipeline)
            story.say(
                f"{4 + story.kills}. Comparing the table with the log, "
                "by a checker that shares no code with the sink"
            )
            return prove(story, load_config(pipeline), stage.folder)
        finally:
            live.close()


def write_pipeline(stage: Stage, story: ExactlyOnce) -> Path:
    """Write the pipeline a user would write, and return its file."""
    limit = max(1, story.records // _CHECKPOINTS)
    source = {"start": "earliest", "max-offsets-per-trigger": limit}
    return stage.write_pipeline("exactly-once", source=source, interval="1s")


def _produce_backlog(story: ExactlyOnce, stage: Stage, live: LiveProducer) -> None:
    backlog = int(story.records * _BACKLOG_SHARE)
    story.say(f"2. Producing {backlog:,} upserts and deletes into {PARTITIONS} partitions")
    create_topic(stage.endpoints.bootstrap_servers, stage.name, PARTITIONS)
    live.send(backlog)
    rest = story.records - backlog
    story.say(f"   the other {rest:,} are produced while the job runs")
    live.start(max(rest / _LIVE_SECONDS, _SLOWEST_RATE))


def _survive(story: ExactlyOnce, stage: Stage, live: LiveProducer, pipeline: Path) -> None:
    """Run the job, kill it as often as the story says, let it catch up, stop it cleanly."""
    layout = stage.layout
    choose = random.Random(story.seed)
    for kill in range(story.kills):
        story.say(f"{3 + kill}. Running `milepost run pipeline.yaml`, to be killed")
        goal = story.records * (kill + 1) // (story.kills + 1)
        with Driver(pipeline, stage.folder / f"run-{kill + 1}.log", layout) as driver:
            standing = _kill_in_mid_flight(driver, goal, choose)
        story.say(f"   {_killed(story, standing, look(layout))}")
    story.say(f"{3 + story.kills}. Running it again, until it has caught up")
    began = time.monotonic()
    with Driver(pipeline, stage.folder / "run-last.log", layout) as driver:
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


def _killed(story: ExactlyOnce, seen: Standing, left: Standing) -> str:
    checkpoint = (
        f"in the middle of checkpoint {left.in_flight}"
        if left.in_flight is not None
        else f"just after checkpoint {left.completed}"
    )
    return (
        f"killed with SIGKILL {checkpoint}; checkpoint {left.completed} is the newest complete one, "
        f"with {max(seen.records, left.records):,} of {story.records:,} records"
    )
