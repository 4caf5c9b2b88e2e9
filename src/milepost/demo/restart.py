"""`milepost demo restart`: where a job begins when it has its state, only its group's offsets, or neither."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.layout import PLAN
from milepost.checkpoint.store.store import LocalStore
from milepost.config import load_config
from milepost.demo.driver import Driver, Standing, look
from milepost.demo.environment import (
    Stage,
    Story,
    prove,
    staged,
)
from milepost.demo.group import Group
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import events
from milepost.errors import VerificationError
from milepost.verify import Report

PARTITIONS = 2
STARTS = 4
RECORDS_PER_START = 50

_PATIENCE = {"timeout": 180.0, "every": 0.1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Story):
    """What the demo does; the same seed gives the same records."""

    seed: int = 7


class Beginning(NamedTuple):
    """Where a partition begins, and why there."""

    offset: int
    reason: str


FRESH = dict.fromkeys(range(PARTITIONS), Beginning(0, "earliest: the group has no offset"))
"""The beginnings of a job that has neither state nor group offsets."""


def run(story: Restart) -> Report:
    """Tell the story; raise where a start does not begin where it must, or for another reason."""
    with staged(story, "restart") as stage:
        servers = stage.endpoints.bootstrap_servers
        create_topic(servers, stage.name, PARTITIONS)
        records = LiveProducer(servers, stage.name, events(STARTS * RECORDS_PER_START, story.seed))
        group = Group(servers, stage.name)
        play = _Play(story, stage, write_pipeline(stage), records, group)
        play.start(2, "for the first time: there is neither state nor an offset of the group", FRESH)
        left = look(stage.layout)
        play.start(3, "again after the kill: it has its state", at(left, f"checkpoint {left.completed}"))
        left = look(stage.layout)
        shutil.rmtree(stage.layout.root)
        play.start(4, "with its state deleted: the group has its offsets", at(left, "group offset"))
        shutil.rmtree(stage.layout.root)
        group.delete()
        play.start(5, "with its state and the group deleted: all is read again", FRESH)
        story.say("6. Comparing the table, into which all was written again, with the log")
        return prove(story, load_config(play.pipeline), stage.folder)


def write_pipeline(stage: Stage) -> Path:
    """Write the pipeline, and return its file."""
    source = {"group-id": stage.name, "commit": "on-checkpoints", "start": "group-offsets"}
    return stage.write_pipeline("restart", source=source, interval="500ms")


def at(standing: Standing, reason: str) -> dict[int, Beginning]:
    """Return the beginnings of a job that goes on where it stood."""
    return {partition: Beginning(offset, reason) for (_, partition), offset in standing.offsets.items()}


def beginnings(plan: Mapping[str, Any]) -> dict[int, Beginning]:
    """Return the beginnings that a start-up plan names."""
    return {each["partition"]: Beginning(each["offset"], each["reason"]) for each in plan["partitions"]}


def told(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield a start-up plan, a line per partition."""
    resumed = plan["resumed-from"]
    yield f"start-up plan: from {'a fresh start' if resumed is None else f'checkpoint {resumed}'}"
    for partition, (offset, reason) in sorted(beginnings(plan).items()):
        yield f"  partition {partition} starts at {offset}, because: {reason}"


def require(expected: Mapping[int, Beginning], plan: Mapping[str, Any]) -> None:
    """Refuse a plan that begins elsewhere, or for another reason."""
    found = beginnings(plan)
    if found != expected:
        raise VerificationError(
            "The job did not begin where it must",
            why=f"its start-up plan has {_listing(found)}; expected was {_listing(expected)}",
        )


def _listing(begun: Mapping[int, Beginning]) -> str:
    return ", ".join(f"partition {p} at {offset} ({reason})" for p, (offset, reason) in sorted(begun.items()))


@dataclass(frozen=True, slots=True)
class _Play:
    story: Restart
    stage: Stage
    pipeline: Path
    records: LiveProducer
    group: Group

    def start(self, step: int, how: str, expected: Mapping[int, Beginning]) -> None:
        """Produce some more, run the job until they are in a checkpoint and in the group, and kill it."""
        say, stage = self.story.say, self.stage
        say(f"{step}. Producing {RECORDS_PER_START} records and running `milepost run pipeline.yaml` {how}")
        self.records.send(RECORDS_PER_START)
        with Driver(self.pipeline, stage.folder / f"run-{step}.log", stage.layout) as driver:
            done = driver.wait_until(self._has_caught_up, "all records were in a checkpoint", **_PATIENCE)
            plan = self._plan(step)
            for line in told(plan):
                say(f"   {line}")
            require(expected, plan)
            driver.wait_until(self._is_in_group, "its offsets were in the group", **_PATIENCE)
        places = ", ".join(f"partition {p} at {offset}" for (_, p), offset in sorted(done.offsets.items()))
        say(f"   checkpoint {done.completed} has all {done.records}: {places}; so has the group")
        say("   killed with SIGKILL")

    def _plan(self, step: int) -> Mapping[str, Any]:
        """Return the job's start-up plan; a copy of it outlives the state."""
        # It is written before the first checkpoint, so it is this start's.
        shutil.copy(self.stage.layout.root / PLAN, self.stage.folder / f"plan-{step}.json")
        return History(LocalStore(self.stage.layout.root)).plan() or {"partitions": [], "resumed-from": None}

    def _has_caught_up(self, standing: Standing) -> bool:
        return standing.records >= self.records.sent

    def _is_in_group(self, standing: Standing) -> bool:
        return self.group.committed() == standing.offsets
