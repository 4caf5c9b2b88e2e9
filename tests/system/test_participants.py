"""Python participants in the checkpoints of a real job: their state comes back, their failures have consequences."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, numbered, wait_until

from milepost.checkpoint.model import FailureReason, Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.errors import ParticipantError, PreflightError
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job
from milepost.transform import Transformation

WAIT_S = 60.0
ONCE = {"strategy": "fixed-delay", "attempts": 1, "delay": "50ms"}


@dataclass
class Recorder:
    """A participant that counts its snapshots, and writes down everything it is told."""

    name: str = "recorder"
    count: int = 0
    begun: list[InitializationContext] = field(default_factory=list)
    told: list[tuple[str, int]] = field(default_factory=list)
    do: Callable[[SnapshotContext], None] = lambda _: None
    when_told: Callable[[int], None] = lambda _: None

    def initialize_state(self, context: InitializationContext) -> None:
        self.begun.append(context)
        self.count = context.state["count"] if context.state else 0

    def snapshot_state(self, context: SnapshotContext) -> Value:
        self.told.append(("snapshot", context.checkpoint_id))
        self.do(context)
        self.count += 1
        return {"count": self.count}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.told.append(("complete", checkpoint_id))
        self.when_told(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.told.append(("aborted", checkpoint_id))


def raising(times: int) -> Callable[[SnapshotContext], None]:
    """Return a snapshot that raises that often, and is well afterwards."""
    left = [times]

    def snapshot(_: SnapshotContext) -> None:
        if left[0] > 0:
            left[0] -= 1
            raise ValueError("no snapshot today")

    return snapshot


def files_of(config: Config) -> CheckpointFiles:
    return CheckpointFiles(Store.at(config.checkpointing.dir))


def stored(config: Config, checkpoint_id: int | None = None) -> Any:
    files = files_of(config)
    found = files.newest() if checkpoint_id is None else files.get(checkpoint_id)
    assert found is not None
    return found


# ---- what is stored comes back ----


def test_state_and_extra_come_back_at_the_next_start(lab: Lab) -> None:
    topic = lab.topic(*numbered(2))
    config = lab.numbers(topic, source={"stop": "never"}, checkpointing={"interval": "1h", "timeout": "1h"})
    first = Recorder(do=lambda context: context.attach("log", {"file": "a.log", "at": 17}))
    with lab.running(config, participants=[first]) as (job, pipeline):
        wait_until(lambda: job.checkpoints.stats.completed > 0, "the first checkpoint")
        pipeline.attach("token", b"\x00\xff")
        pipeline.attach("note", ["of", {"the": "pipeline"}])
        taken = pipeline.checkpoint(WAIT_S)
    assert [context.is_restored for context in first.begun] == [False]
    assert taken.states == {"recorder": {"count": first.count}}
    extra = {"log": {"file": "a.log", "at": 17}, "token": b"\x00\xff", "note": ["of", {"the": "pipeline"}]}
    assert taken.extra == extra

    second = Recorder()
    with lab.running(config, participants=[second]):
        (context,) = second.begun
    assert context.checkpoint_id == taken.checkpoint_id
    assert context.state == {"count": first.count}
    assert dict(context.extra) == extra


def test_what_was_attached_is_in_one_checkpoint_only(lab: Lab) -> None:
    config = lab.numbers(
        lab.topic(), source={"stop": "never"}, checkpointing={"interval": "1h", "timeout": "1h"}
    )
    with lab.running(config) as (job, pipeline):
        wait_until(lambda: job.checkpoints.stats.completed > 0, "the first checkpoint")
        pipeline.attach("key", 1)
        assert pipeline.checkpoint(WAIT_S).extra == {"key": 1}
        assert pipeline.checkpoint(WAIT_S).extra == {}


def test_an_automatic_restart_gives_back_the_state_of_the_newest_checkpoint(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic(*numbered(12))
    config = lab.numbers(topic, source={"max-offsets-per-trigger": 4}, restart=ONCE)
    recorder = Recorder()
    job = lab.start(config, failing_once_at(9, tmp_path), participants=[recorder])
    assert job.wait() is JobStatus.FINISHED, job.error
    assert job.restarts == 1
    fresh, restored = recorder.begun
    assert (fresh.is_restored, fresh.state) == (False, None)
    assert restored.checkpoint_id is not None
    told = [each for kind, each in recorder.told if kind == "complete"]
    assert restored.checkpoint_id in told
    assert restored.state == {"count": told.index(restored.checkpoint_id) + 1}
    assert stored(config).states == {"recorder": {"count": len(told)}}, "as if nothing had failed"


def failing_once_at(number: int, folder: Path) -> Transformation:
    mark = str(folder / "failed")

    def check(n):
        if n == number and not Path(mark).exists():
            Path(mark).touch()
            raise RuntimeError(f"failure at record {number}")
        return n

    def transformation(rows: DataFrame) -> DataFrame:
        return rows.withColumn("n", F.udf(lambda n: check(n), "int")("n"))

    return transformation


def test_state_that_nobody_claims_is_refused_unless_it_may_go(lab: Lab) -> None:
    topic = lab.topic(*numbered(2))
    config = lab.numbers(topic)
    lab.finish(config, participants=[Recorder("kept"), Recorder("gone")])
    lab.produce(topic, *numbered(2, 2))
    with pytest.raises(PreflightError, match="'gone', which is not a participant") as refused:
        lab.start(config, participants=[Recorder("kept")])
    assert "--allow-non-restored-state" in refused.value.fix
    kept = Recorder("kept")
    allowed = StartOptions(allow_non_restored_state=True)
    assert lab.finish(config, participants=[kept], options=allowed).rows == 2
    assert kept.begun[0].state == {"count": 1}
    assert {*stored(config).states} == {"kept"}
    lab.produce(topic, *numbered(1, 4))
    assert lab.finish(config, participants=[kept]).rows == 1, "there is nothing unclaimed any more"


# ---- who declines, who hangs ----


def test_a_snapshot_that_raises_fails_the_job_with_its_own_traceback(lab: Lab) -> None:
    config = lab.numbers(lab.topic(*numbered(2)))
    recorder = Recorder(do=raising(1))
    run = lab.run_bounded(config, participants=[recorder])
    assert run.status is JobStatus.FAILED
    assert isinstance(run.error, ParticipantError)
    assert run.error.participants == ("recorder",)
    text = str(run.error)
    assert "'recorder'" in text
    assert 'raise ValueError("no snapshot today")' in text
    assert f'File "{__file__}"' in text
    assert "milepost/checkpoint/" not in text, "our frames only stand in the way"
    assert recorder.told == [("snapshot", 0), ("aborted", 0)]
    assert files_of(config).ids() == []


def test_a_restart_takes_the_declined_checkpoint_again(lab: Lab) -> None:
    config = lab.numbers(lab.topic(*numbered(2)), restart=ONCE)
    recorder = Recorder(do=raising(1))
    job = lab.start(config, participants=[recorder])
    assert job.wait() is JobStatus.FINISHED, job.error
    assert (job.restarts, job.progress().rows) == (1, 2)
    assert recorder.told[:4] == [("snapshot", 0), ("aborted", 0), ("snapshot", 0), ("complete", 0)]
    assert len(lab.cells(config)) == 2


@pytest.mark.parametrize(
    ("failures", "status", "restarts"), [(2, JobStatus.FINISHED, 2), (3, JobStatus.FAILED, 2)]
)
def test_tolerable_failures_are_borne_without_a_strategy(
    lab: Lab, failures: int, status: JobStatus, restarts: int
) -> None:
    config = lab.numbers(lab.topic(*numbered(2)), checkpointing={"tolerable-failures": 2})
    assert config.restart.strategy == "none"
    job = lab.start(config, participants=[Recorder(do=raising(failures))])
    assert (job.wait(), job.restarts) == (status, restarts), str(job.error)
    reasons = [each.reason for each in failed(job)]
    assert reasons == [FailureReason.CHECKPOINT_DECLINED] * failures


def test_a_completed_checkpoint_makes_up_for_the_failures_before(lab: Lab) -> None:
    config = lab.numbers(
        lab.topic(*numbered(3)),
        source={"max-offsets-per-trigger": 1},
        checkpointing={"tolerable-failures": 1},
    )
    seen: set[int] = set()

    def first_time(context: SnapshotContext) -> None:
        if context.checkpoint_id not in seen:
            seen.add(context.checkpoint_id)
            raise ValueError("only the second time")

    job = lab.start(config, participants=[Recorder(do=first_time)])
    assert job.wait() is JobStatus.FINISHED, job.error
    assert len(failed(job)) >= 3


def failed(job: Job) -> list[Any]:
    return [each for each in job.checkpoints.stats.history if hasattr(each, "reason")]


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Lets go in the end whoever still hangs."""
    event = threading.Event()
    yield event
    event.set()


def test_one_that_hangs_expires_and_what_comes_late_is_discarded(
    lab: Lab, released: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    config = lab.numbers(lab.topic(*numbered(2)), checkpointing={"timeout": "6s"})
    hanging = Recorder("hanging", do=lambda _: assert_true(released.wait(WAIT_S)))
    prompt = Recorder("prompt")
    caplog.set_level(logging.WARNING, "milepost.checkpoint.coordinator")
    job = lab.start(config, participants=[hanging, prompt])
    assert job.wait() is JobStatus.FAILED
    assert "hanging" in str(job.error)
    (expired,) = failed(job)
    assert expired.reason is FailureReason.CHECKPOINT_EXPIRED
    assert 5.9 < (expired.failed_at - expired.triggered_at).total_seconds() < 20
    assert (expired.acknowledged, expired.waiting_for) == (2, 3), "the writer and the prompt one have"

    released.set()
    wait_until(lambda: "The acknowledgement of hanging was DISCARDED" in caplog.text, "it is discarded")
    assert files_of(config).ids() == []
    assert prompt.told == [("snapshot", 0), ("aborted", 0)]


def assert_true(condition: bool) -> None:
    assert condition


# ---- who is told what ----


def test_everyone_is_told_once_per_checkpoint_and_in_order(lab: Lab) -> None:
    config = lab.numbers(
        lab.topic(*numbered(4)), source={"stop": "never"}, checkpointing={"interval": "20ms"}
    )
    one, other = Recorder("one"), Recorder("other")
    with lab.running(config, participants=[one, other]) as (job, _):
        wait_until(lambda: job.checkpoints.stats.completed >= 20, "20 checkpoints")
    for recorder in (one, other):
        if recorder.told[-1][0] == "aborted":
            # The stop came between a trigger and its batch.
            assert recorder.told.pop() == ("aborted", recorder.told[-1][1] + 1)
        ids = range(len(recorder.told) // 2)
        assert recorder.told == [(kind, each) for each in ids for kind in ("snapshot", "complete")]
        assert len(ids) >= 20


def test_a_listener_that_raises_fails_the_job_and_the_checkpoint_stays(lab: Lab) -> None:
    def refuse(checkpoint_id: int) -> None:
        raise LookupError(f"I do not want to hear of {checkpoint_id}")

    topic = lab.topic(*numbered(2))
    config = lab.numbers(topic, source={"stop": "never"})
    deaf, other = Recorder("deaf", when_told=refuse), Recorder("other")
    job = lab.start(config, participants=[[deaf, other]])
    assert job.wait() is JobStatus.FAILED
    assert isinstance(job.error, ParticipantError)
    assert "I do not want to hear of 0" in str(job.error)
    assert f'File "{__file__}"' in str(job.error)
    assert ("complete", 0) in other.told, "one that raises keeps it from nobody"
    assert stored(config, 0).states == {"deaf": {"count": 1}, "other": {"count": 1}}

    restored = Recorder("deaf")
    with lab.running(config, participants=[[restored, Recorder("other")]]):
        assert restored.begun[0].checkpoint_id is not None


# ---- in a file ----


MODULE = """
import pathlib

FOLDER = pathlib.Path(__file__).parent


class Ledger:
    name = "ledger"

    def initialize_state(self, context):
        self.pages = context.state or []
        with open(FOLDER / "begun", "a") as file:
            print(context.checkpoint_id, self.pages, file=file)

    def snapshot_state(self, context):
        self.pages.append(context.checkpoint_id)
        return self.pages


class Bell:
    def notify_checkpoint_complete(self, checkpoint_id):
        with open(FOLDER / "rung", "a") as file:
            print(checkpoint_id, file=file)


def tower():
    return Bell()


class Clock:
    def __init__(self, face):
        self.face = face

    def snapshot_state(self, context):
        return self.face


clock = Clock("twelve")
"""


def test_participants_in_a_file(lab: Lab) -> None:
    topic, folder = lab.topic(*numbered(2)), lab.folder("yaml")
    (folder / "accounts.py").write_text(MODULE)
    config = lab.numbers(topic)
    document = lab.document(
        topic,
        config.sink.hbase.table,
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": str(folder / "checkpoint")},
    )
    participants = ["accounts:Ledger", ["accounts:tower", "accounts:clock"]]
    document |= {"participants": participants, "spark": {"master": "local[1]"}}
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document))
    command = [sys.executable, "-m", "milepost", "run", str(file)]
    first = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert first.returncode == 0, first.stdout + first.stderr
    newest = CheckpointFiles(Store.at(str(folder / "checkpoint"))).newest()
    assert newest is not None
    ids = list(range(newest.checkpoint_id + 1))
    assert newest.states == {"ledger": ids, "Clock": "twelve"}
    assert {ack.participant for ack in newest.acknowledgements} >= {"ledger", "Bell", "Clock"}
    assert (folder / "rung").read_text().split() == [str(each) for each in ids]
    assert (folder / "begun").read_text() == "None []\n"

    # Without them the state of two is unclaimed.
    del document["participants"]
    with pytest.raises(PreflightError, match="'ledger'"):
        lab.start(Config(**document))
