"""`milepost demo restart`: where a job starts with its state, with its group's offsets only, or with neither."""

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
from milepost.demo.driver import Driver, JobPosition, read_position
from milepost.demo.environment import (
    DemoEnvironment,
    DemoOptions,
    demo_environment,
    verify_table,
)
from milepost.demo.group import Group
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import events
from milepost.errors import VerificationError
from milepost.verify import Report

PARTITIONS = 2
STARTS = 4
RECORDS_PER_START = 50

_WAIT = {"timeout": 180.0, "every": 0.1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(DemoOptions):
    """The options of the demo; the same seed gives the same records."""

    seed: int = 7


class StartOffset(NamedTuple):
    """The offset at which a partition starts, and the reason."""

    offset: int
    reason: str


FRESH = dict.fromkeys(range(PARTITIONS), StartOffset(0, "earliest: the group has no offset"))
"""The start offsets of a job that has neither state nor group offsets."""


def run(demo: Restart) -> Report:
    """Run the demo; raise an error if a run starts at an unexpected offset, or for another reason."""
    with demo_environment(demo, "restart") as environment:
        servers = environment.endpoints.bootstrap_servers
        create_topic(servers, environment.name, PARTITIONS)
        records = LiveProducer(servers, environment.name, events(STARTS * RECORDS_PER_START, demo.seed))
        group = Group(servers, environment.name)
        scenario = _Scenario(demo, environment, write_pipeline(environment), records, group)
        scenario.start(2, "for the first time: there is neither state nor a group offset", FRESH)
        left = read_position(environment.layout)
        scenario.start(
            3, "again after the kill: it has its state", starts_at(left, f"checkpoint {left.completed}")
        )
        left = read_position(environment.layout)
        shutil.rmtree(environment.layout.root)
        scenario.start(
            4, "with its state deleted: the group has its offsets", starts_at(left, "group offset")
        )
        shutil.rmtree(environment.layout.root)
        group.delete()
        scenario.start(5, "with its state and the group deleted: everything is read again", FRESH)
        demo.say("6. Comparing the table, to which everything was written again, with the log")
        return verify_table(demo, load_config(scenario.pipeline), environment.folder)


def write_pipeline(environment: DemoEnvironment) -> Path:
    """Write the pipeline, and return its file."""
    source = {"group-id": environment.name, "commit": "on-checkpoints", "start": "group-offsets"}
    return environment.write_pipeline("restart", source=source, interval="500ms")


def starts_at(position: JobPosition, reason: str) -> dict[int, StartOffset]:
    """Return the start offsets of a job that resumes from a position."""
    return {partition: StartOffset(offset, reason) for (_, partition), offset in position.offsets.items()}


def start_offsets(plan: Mapping[str, Any]) -> dict[int, StartOffset]:
    """Return the start offsets in a start-up plan."""
    return {each["partition"]: StartOffset(each["offset"], each["reason"]) for each in plan["partitions"]}


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield a start-up plan as text, one line per partition."""
    resumed = plan["resumed-from"]
    yield f"start-up plan: from {'a fresh start' if resumed is None else f'checkpoint {resumed}'}"
    for partition, (offset, reason) in sorted(start_offsets(plan).items()):
        yield f"  partition {partition} starts at {offset}, because: {reason}"


def require_starts(expected: Mapping[int, StartOffset], plan: Mapping[str, Any]) -> None:
    """Raise an error if the plan has other start offsets or reasons."""
    found = start_offsets(plan)
    if found != expected:
        raise VerificationError(
            "The job did not start at the expected offsets",
            why=f"its start-up plan has {_listing(found)}; expected: {_listing(expected)}",
        )


def _listing(starts: Mapping[int, StartOffset]) -> str:
    return ", ".join(
        f"partition {p} at {offset} ({reason})" for p, (offset, reason) in sorted(starts.items())
    )


@dataclass(frozen=True, slots=True)
class _Scenario:
    demo: Restart
    environment: DemoEnvironment
    pipeline: Path
    records: LiveProducer
    group: Group

    def start(self, step: int, how: str, expected: Mapping[int, StartOffset]) -> None:
        """Produce records, run the job until they are in a checkpoint and in the group, and kill it."""
        say, environment = self.demo.say, self.environment
        say(f"{step}. Producing {RECORDS_PER_START} records and running `milepost run pipeline.yaml` {how}")
        self.records.send(RECORDS_PER_START)
        with Driver(self.pipeline, environment.folder / f"run-{step}.log", environment.layout) as driver:
            done = driver.wait_until(self._has_caught_up, "all records were in a checkpoint", **_WAIT)
            plan = self._plan(step)
            for line in plan_lines(plan):
                say(f"   {line}")
            require_starts(expected, plan)
            driver.wait_until(self._is_in_group, "its offsets were in the group", **_WAIT)
        places = ", ".join(f"partition {p} at {offset}" for (_, p), offset in sorted(done.offsets.items()))
        say(f"   checkpoint {done.completed} has all {done.records} records: {places}; so does the group")
        say("   killed with SIGKILL")

    def _plan(self, step: int) -> Mapping[str, Any]:
        """Return the job's start-up plan; a copy is kept when the state is deleted."""
        # It is written before the first checkpoint, so it belongs to this run.
        shutil.copy(self.environment.layout.root / PLAN, self.environment.folder / f"plan-{step}.json")
        return History(LocalStore(self.environment.layout.root)).plan() or {
            "partitions": [],
            "resumed-from": None,
        }

    def _has_caught_up(self, position: JobPosition) -> bool:
        return position.records >= self.records.sent

    def _is_in_group(self, position: JobPosition) -> bool:
        return self.group.committed() == position.offsets
