"""An HBase that stands still: what a checkpoint fails of, and what a start does."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.system.lab import Lab, numbered, wait_until

from milepost.checkpoint.model import FailedCheckpoint, FailureReason
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.config.reference import render
from milepost.demo.driver import read_position
from milepost.errors import NotReachableError
from milepost.job.prepare import prepare_job
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.startup.resume import prepare_by_strategy
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.services import Services

HBASE_ONLY = frozenset({"hbase"})


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """An HBase that no other test needs."""
    instance = Services(tmp_path_factory.mktemp("own"))
    try:
        instance.up(only=HBASE_ONLY)
        yield instance
    finally:
        instance.down()


@contextmanager
def held(instance: Services, seconds: float = 600) -> Iterator[None]:
    """Let HBase stand still for so long, at most for the block."""
    (pid,) = (each.pid for each in instance.status() if each.name == "hbase" and each.pid)
    server = psutil.Process(pid)
    server.send_signal(signal.SIGSTOP)
    later = threading.Timer(seconds, server.send_signal, [signal.SIGCONT])
    later.start()
    try:
        yield
    finally:
        later.cancel()
        server.send_signal(signal.SIGCONT)


def config(lab: Lab, own: Services, topic: str, **checkpointing: Any) -> Config:
    return lab.numbers(
        topic,
        table=lab.name("still"),
        source={"stop": "never"},
        sink={"quorum": own.endpoints().quorum, "create-table": {"regions": 1}},
        checkpointing={"interval": "500ms", "timeout": "5s", **checkpointing},
        restart={"strategy": "fixed-delay", "attempts": 1000, "delay": "300ms"},
    )


def spec(lab: Lab, own: Services, **more: Any) -> JobSpec:
    """Return a job of three records that ends by itself."""
    sink = {"quorum": own.endpoints().quorum, "create-table": {"regions": 1}, **more.pop("sink", {})}
    return lab.spec(lab.numbers(lab.topic(*numbered(3)), table=lab.name("start"), sink=sink, **more))


def test_a_start_waits_for_a_busy_hbase(lab: Lab, own: Services) -> None:
    """It gave up after 9 s, and a supervisor would have started it again and again."""
    with held(own, seconds=15):
        job = start_job(prepare_job(spec(lab, own)))
    assert job.wait() is JobStatus.FINISHED


def test_the_patience_of_a_start_is_a_setting(lab: Lab, own: Services) -> None:
    began = time.monotonic()
    with held(own), pytest.raises(NotReachableError, match="did not answer within 3 s") as refused:
        prepare_job(spec(lab, own, sink={"connect-timeout": "3s"}))
    assert time.monotonic() - began < 9
    assert "sink.hbase.connect-timeout" in refused.value.fix


def test_a_job_that_has_run_before_waits_by_its_restart_strategy(lab: Lab, own: Services) -> None:
    made = spec(
        lab,
        own,
        sink={"connect-timeout": "2s"},
        restart={"strategy": "fixed-delay", "attempts": 100, "delay": "100ms"},
    )
    assert start_job(prepare_job(made)).wait() is JobStatus.FINISHED
    told: list[str] = []
    with held(own, seconds=12):
        job = start_job(prepare_by_strategy(replace(made), lambda error, _delay: told.append(error.what)))
    assert told
    assert all(own.endpoints().quorum in each for each in told)
    assert job.wait() is JobStatus.FINISHED


def test_a_closed_port_is_told_before_the_time_is_over(lab: Lab, own: Services) -> None:
    began = time.monotonic()
    with pytest.raises(NotReachableError, match="nothing listens there"):
        prepare_job(spec(lab, own, sink={"quorum": "127.0.0.1:1"}))
    assert time.monotonic() - began < 30


def failed(job: Job) -> list[FailedCheckpoint]:
    with job.checkpoints.changed:
        return [each for each in job.checkpoints.stats.history if isinstance(each, FailedCheckpoint)]


@pytest.mark.parametrize("execution", ["micro-batch", "real-time"])
def test_a_checkpoint_whose_time_runs_out_is_expired(lab: Lab, own: Services, execution: str) -> None:
    """It was a TASK_FAILURE, with the advice to raise `operation-timeout-ms`, which is not a key."""
    topic = lab.topic(*numbered(5))
    made = config(lab, own, topic, execution=execution)
    layout = Layout(Path(made.checkpointing.dir))
    with lab.running(made) as running:
        wait_until(lambda: read_position(layout).records == 5, "the first records are done")
        # The first batch on a busy machine may take long, too.
        before = len(failed(running.job)), len(History(LocalStore(layout.root)).exceptions())
        with held(own):
            lab.produce(topic, *numbered(5, first=5))
            wait_until(lambda: len(failed(running.job)) > before[0], "the checkpoint fails")
            wait_until(
                lambda: len(History(LocalStore(layout.root)).exceptions()) > before[1],
                "the failure is in the history",
            )
        wait_until(lambda: read_position(layout).records == 10, "the records of the fault")
        told = [*reversed(History(LocalStore(layout.root)).exceptions())][before[1]]
        first = failed(running.job)[before[0]]
    assert first.reason is FailureReason.CHECKPOINT_EXPIRED, first
    assert "Checkpoint expired before completing" in told.what
    # The writer; the coordinator, whose time is over a moment later; or the engine, where the writer was done.
    assert any(word in first.detail for word in (made.sink.hbase.table, "writer/0", "the engine")), first
    advice = f"{told.what} {told.why} {told.fix}"
    assert "checkpointing.timeout" in told.fix
    assert "operation-timeout-ms" not in advice
    for key in re.findall(r"\b(?:checkpointing|sink|source|restart)\.[\w.-]*\w", advice):
        assert f"`{key}`" in render(), key
