"""`milepost chaos`: injects faults from a seeded plan into a user's job, then verifies its table.

The job runs as `milepost run FILE` in its own process. A job that ends because of a fault is started again, as a
process supervisor would do.
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
from milepost.demo.driver import Driver, JobPosition, read_position
from milepost.demo.environment import (
    DemoOptions,
    exit_on_signals,
    verify_table,
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
_POLL_S = 0.05
_MAX_STARTS = 5
_MAX_CHECKPOINTS = 3
_MAX_DELAY = 0.5
_MAX_PAUSE = 3.0


class Kind(Enum):
    """A kind of fault and its target."""

    KILL_DRIVER = "the driver is killed with SIGKILL"
    PAUSE_DRIVER = "the driver is suspended"
    KILL_KAFKA = "Kafka is killed with SIGKILL and started again"
    PAUSE_KAFKA = "Kafka is suspended"
    KILL_HBASE = "HBase is killed with SIGKILL and started again"
    PAUSE_HBASE = "HBase is suspended"

    @property
    def target(self) -> str:
        """Return driver, kafka or hbase."""
        return self.name.rpartition("_")[2].lower()

    @property
    def is_pause(self) -> bool:
        """Whether the target continues by itself afterwards."""
        return self.name.startswith("PAUSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of the plan, injected after a number of further checkpoints and a delay."""

    kind: Kind
    checkpoints: int
    delay: float
    seconds: float
    """The duration of a pause."""

    def __str__(self) -> str:
        """Return the fault as text."""
        duration = f" for {self.seconds:.1f} s" if self.kind.is_pause else ""
        return (
            f"after {self.checkpoints} more checkpoints and {self.delay:.2f} s: {self.kind.value}{duration}"
        )

    def document(self) -> dict[str, Any]:
        """Return the fault as JSON."""
        seconds = self.seconds if self.kind.is_pause else None
        return {
            "fault": self.kind.name.lower().replace("_", "-"),
            "checkpoints": self.checkpoints,
            "delay": self.delay,
            "seconds": seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos(DemoOptions):
    """The job, the number of faults and the seed of the plan; `services` get faults too if they are given."""

    file: Path
    seed: int
    faults: int = 5

    @property
    def plan(self) -> tuple[Fault, ...]:
        """Return the faults in order."""
        return make_plan(self.seed, self.faults, has_services=self.services is not None)


def make_plan(seed: int, count: int, *, has_services: bool) -> tuple[Fault, ...]:
    """Return the faults of a seed, always the same; the first one always kills the driver."""
    choose = random.Random(seed)
    kinds = [kind for kind in Kind if has_services or kind.target == "driver"]
    return tuple(
        Fault(
            kind=choose.choice(kinds) if number else Kind.KILL_DRIVER,
            checkpoints=choose.randint(1, _MAX_CHECKPOINTS),
            delay=round(choose.uniform(0, _MAX_DELAY), 2),
            seconds=round(choose.uniform(0.5, _MAX_PAUSE), 1),
        )
        for number in range(count)
    )


def run(chaos: Chaos) -> Report:
    """Run the job, inject all faults, let it catch up, stop it, and compare the table with the log."""
    config = load_config(chaos.file)
    mapping_of(config)  # refuses a job whose table cannot be verified afterwards
    layout = _local(config)
    with exit_on_signals(), workspace(chaos) as folder:
        with _running(chaos, layout, folder) as job:
            for number, fault in enumerate(chaos.plan, 1):
                chaos.say(f"{number}. {fault}")
                if not job.inject(fault):
                    chaos.say("   the job has finished; the remaining faults are skipped")
                    break
            chaos.say("Letting the job catch up, then stopping it")
            job.finish(config)
        chaos.say("Comparing the table with the log")
        return verify_table(chaos, config, folder)


class _Job:
    """The job and its current driver process."""

    def __init__(self, chaos: Chaos, layout: Layout, folder: Path) -> None:
        self._chaos = chaos
        self._layout = layout
        self._folder = folder
        self._starts = 0
        self.driver = self._start()

    def inject(self, fault: Fault) -> bool:
        """Wait until the fault is due, inject it, and return False if the job has already finished."""
        goal = (read_position(self._layout).completed or 0) + fault.checkpoints
        if not self._reach(lambda position: (position.completed or 0) >= goal, f"checkpoint {goal}"):
            return False
        threading.Event().wait(fault.delay)
        if fault.kind is Kind.KILL_DRIVER:
            self.driver.kill()
            position = read_position(self._layout)
            self._chaos.say(
                f"   checkpoint {position.completed} is the newest completed one; starting the job again"
            )
            self.driver = self._start()
        elif fault.kind is Kind.PAUSE_DRIVER:
            with _pause(self.driver.pid, of_group=True):
                threading.Event().wait(fault.seconds)
        else:
            self._inject_into_service(fault)
        return True

    def finish(self, config: Config) -> None:
        """Let the job read up to the current end of the log, and stop it at a boundary."""
        ends = _ends(config)
        if self._reach(lambda position: _is_at(position, ends), "the end of the log"):
            code = self.driver.stop(timeout=STOP_TIMEOUT)
            if code != 0:
                raise JobFailedError(
                    f"The job ended with exit code {code} on Ctrl-C", why=f"see {self.driver.log}"
                )

    def _reach(self, reached: Any, what: str) -> bool:
        """Return True if the job reached this, False if it finished; a job that failed is started again."""
        while True:
            try:
                self.driver.wait_until(reached, what, timeout=CHECKPOINT_TIMEOUT, every=_POLL_S)
                return True
            except JobFailedError:
                code = self.driver.exit_code
                if code == 0:
                    return False
                if code is None or self._starts >= _MAX_STARTS + self._chaos.faults:
                    raise
                self._chaos.say(f"   the job ended with exit code {code}; starting it again")
                self.driver = self._start()

    def _inject_into_service(self, fault: Fault) -> None:
        services = Services(str(self._chaos.services))
        pid = next((each.pid for each in services.status() if each.name == fault.kind.target), None)
        if pid is None:
            raise NotReachableError(f"{fault.kind.target} is not running in {self._chaos.services}")
        if fault.kind.is_pause:
            with _pause(pid):
                threading.Event().wait(fault.seconds)
            return
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        services.up()
        self._chaos.say(f"   {fault.kind.target} is back after {time.monotonic() - began:.0f} s")

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
def _pause(pid: int, *, of_group: bool = False) -> Iterator[None]:
    """Suspend a process, or its process group, while the block runs."""
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
            f"milepost chaos cannot watch {config.checkpointing.dir}",
            why="it detects completed checkpoints from local files",
            fix="Set checkpointing.dir to a local directory",
        )
    return layout


def _ends(config: Config) -> dict[tuple[str, int], int]:
    source = next(iter(config.views.values()))
    topics = [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())
    spans = take_spans(client_properties(source.client_properties), topics)
    return {(span.topic, span.partition): span.end for span in spans}


def _is_at(position: JobPosition, ends: dict[tuple[str, int], int]) -> bool:
    return all(position.offsets.get(place, 0) >= end for place, end in ends.items())
