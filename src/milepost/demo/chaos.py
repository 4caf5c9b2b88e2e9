"""`milepost chaos`: hurts a user's own job by a plan that its seed gives, then proves the table.

The job runs as `milepost run FILE` in a process of its own. What ends of a fault is started again, as a supervisor of
the machine would do.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from milepost.checkpoint.store.layout import Layout, local_layout
from milepost.config import Config, load_config
from milepost.demo.driver import Driver, Standing, look
from milepost.demo.environment import (
    Story,
    ended_by_signals,
    prove,
    workspace,
)
from milepost.errors import JobFailedError, NotReachableError, PreflightError
from milepost.services import Services
from milepost.source.librdkafka import client_properties
from milepost.verify import Report
from milepost.verify.log import take_spans
from milepost.verify.proof import mapping_of

CHECKPOINT_TIMEOUT = 300.0
STOP_TIMEOUT = 120.0
_EVERY = 0.05
_MOST_STARTS = 5
_MOST_CHECKPOINTS = 3
_LONGEST_DELAY = 0.5
_LONGEST_PAUSE = 3.0


class Kind(Enum):
    """What is done to whom."""

    KILL_DRIVER = "the driver is killed with SIGKILL"
    PAUSE_DRIVER = "the driver stands still"
    KILL_KAFKA = "Kafka is killed with SIGKILL and started again"
    PAUSE_KAFKA = "Kafka stands still"
    KILL_HBASE = "HBase is killed with SIGKILL and started again"
    PAUSE_HBASE = "HBase stands still"

    @property
    def victim(self) -> str:
        """Return driver, kafka or hbase."""
        return self.name.rpartition("_")[2].lower()

    @property
    def is_pause(self) -> bool:
        """Whether the victim goes on by itself afterwards."""
        return self.name.startswith("PAUSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of the plan: after so many more checkpoints and a moment, this."""

    kind: Kind
    checkpoints: int
    delay: float
    seconds: float
    """How long a pause lasts."""

    def __str__(self) -> str:
        """Return what will happen."""
        lasting = f" for {self.seconds:.1f} s" if self.kind.is_pause else ""
        return f"after {self.checkpoints} more checkpoints and {self.delay:.2f} s {self.kind.value}{lasting}"

    def document(self) -> dict[str, Any]:
        """Return it as JSON can say it."""
        seconds = self.seconds if self.kind.is_pause else None
        return {
            "fault": self.kind.name.lower().replace("_", "-"),
            "checkpoints": self.checkpoints,
            "delay": self.delay,
            "seconds": seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos(Story):
    """Whose job is hurt, how often, and the seed that makes it repeatable; `services` are hurt too where named."""

    file: Path
    seed: int
    faults: int = 5

    @property
    def plan(self) -> tuple[Fault, ...]:
        """Return the faults in their order."""
        return planned(self.seed, self.faults, has_services=self.services is not None)


def planned(seed: int, count: int, *, has_services: bool) -> tuple[Fault, ...]:
    """Return the same faults for the same seed; the first is always a kill of the driver."""
    choose = random.Random(seed)
    kinds = [kind for kind in Kind if has_services or kind.victim == "driver"]
    return tuple(
        Fault(
            kind=choose.choice(kinds) if number else Kind.KILL_DRIVER,
            checkpoints=choose.randint(1, _MOST_CHECKPOINTS),
            delay=round(choose.uniform(0, _LONGEST_DELAY), 2),
            seconds=round(choose.uniform(0.5, _LONGEST_PAUSE), 1),
        )
        for number in range(count)
    )


def run(chaos: Chaos) -> Report:
    """Run the job through the whole plan, let it catch up, stop it, and compare the table with the log."""
    config = load_config(chaos.file)
    mapping_of(config)  # refuses a job whose table could not be proved afterwards
    layout = _local(config)
    with ended_by_signals(), workspace(chaos) as folder:
        with _running(chaos, layout, folder) as job:
            for number, fault in enumerate(chaos.plan, 1):
                chaos.say(f"{number}. {fault}")
                if not job.survive(fault):
                    chaos.say("   the job has come to its end; no further fault can reach it")
                    break
            chaos.say("Letting it catch up, then stopping it")
            job.finish(config)
        chaos.say("Comparing the table with the log")
        return prove(chaos, config, folder)


class _Job:
    """The job under the faults: one driver after the other."""

    def __init__(self, chaos: Chaos, layout: Layout, folder: Path) -> None:
        self._chaos = chaos
        self._layout = layout
        self._folder = folder
        self._starts = 0
        self.driver = self._start()

    def survive(self, fault: Fault) -> bool:
        """Wait for the moment, do it, and return whether the job still has something to do."""
        goal = (look(self._layout).completed or 0) + fault.checkpoints
        if not self._reach(lambda standing: (standing.completed or 0) >= goal, f"checkpoint {goal}"):
            return False
        threading.Event().wait(fault.delay)
        if fault.kind is Kind.KILL_DRIVER:
            self.driver.kill()
            standing = look(self._layout)
            self._chaos.say(
                f"   checkpoint {standing.completed} is the newest complete one; starting it again"
            )
            self.driver = self._start()
        elif fault.kind is Kind.PAUSE_DRIVER:
            with _paused(self.driver.pid, of_group=True):
                threading.Event().wait(fault.seconds)
        else:
            self._hurt_services(fault)
        return True

    def finish(self, config: Config) -> None:
        """Let the job come to the end of the log as it is now, and end it at a boundary."""
        ends = _ends(config)
        if self._reach(lambda standing: _is_at(standing, ends), "the end of the log"):
            code = self.driver.stop(timeout=STOP_TIMEOUT)
            if code != 0:
                raise JobFailedError(
                    f"The job ended with exit code {code} on Ctrl-C", why=f"see {self.driver.log}"
                )

    def _reach(self, reached: Any, what: str) -> bool:
        """Return True where the job came there, False where it has ended well; one that failed is started again."""
        while True:
            try:
                self.driver.wait_until(reached, what, timeout=CHECKPOINT_TIMEOUT, every=_EVERY)
                return True
            except JobFailedError:
                code = self.driver.exit_code
                if code == 0:
                    return False
                if code is None or self._starts >= _MOST_STARTS + self._chaos.faults:
                    raise
                self._chaos.say(f"   the job ended with exit code {code}; starting it again")
                self.driver = self._start()

    def _hurt_services(self, fault: Fault) -> None:
        services = Services(str(self._chaos.services))
        pid = next((each.pid for each in services.status() if each.name == fault.kind.victim), None)
        if pid is None:
            raise NotReachableError(f"{fault.kind.victim} does not run in {self._chaos.services}")
        if fault.kind.is_pause:
            with _paused(pid):
                threading.Event().wait(fault.seconds)
            return
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        services.up()
        self._chaos.say(f"   it is back after {time.monotonic() - began:.0f} s")

    def _start(self) -> Driver:
        self._starts += 1
        return Driver(self._chaos.file, self._folder / f"run-{self._starts}.log", self._layout)


@contextmanager
def _running(chaos: Chaos, layout: Layout, folder: Path) -> Iterator[_Job]:
    job = _Job(chaos, layout, folder)
    try:
        yield job
    finally:
        job.driver.kill()


@contextmanager
def _paused(pid: int, *, of_group: bool = False) -> Iterator[None]:
    """Let a process, or its whole group, stand still for the block."""
    send = os.killpg if of_group else os.kill
    send(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            send(pid, signal.SIGCONT)


def _local(config: Config) -> Layout:
    layout = local_layout(config.checkpointing.dir)
    if layout is None:
        raise PreflightError(
            f"Chaos cannot watch {config.checkpointing.dir}",
            why="it sees checkpoints complete by looking at files of this machine",
            fix="Set checkpointing.dir to a local directory for this",
        )
    return layout


def _ends(config: Config) -> dict[tuple[str, int], int]:
    source = next(iter(config.views.values()))
    topics = [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())
    spans = take_spans(client_properties(source.client_properties), topics)
    return {(span.topic, span.partition): span.end for span in spans}


def _is_at(standing: Standing, ends: dict[tuple[str, int], int]) -> bool:
    return all(standing.offsets.get(place, 0) >= end for place, end in ends.items())
