"""Savepoints of running jobs: taken, stopped with, restored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.system.lab import Lab, numbered, wait_until

from milepost.checkpoint.model import Trigger
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import SavepointTrigger
from milepost.config import Config
from milepost.errors import SavepointError
from milepost.job.status import JobStatus


def job(lab: Lab, topic: str, **checkpointing: Any) -> Config:
    places = {"savepoint-dir": str(lab.folder("savepoints")), "interval": "1h", "timeout": "1h"}
    return lab.numbers(topic, source={"stop": "never"}, checkpointing=places | checkpointing)


def test_a_savepoint_of_a_running_job_and_one_to_stop_with(lab: Lab):
    topic = lab.topic(*numbered(20))
    config = job(lab, topic)
    with lab.running(config) as running:
        first = running.pipeline.savepoint(timeout=60)
        lab.produce(topic, *numbered(10, first=20))
        assert running.job.status is JobStatus.RUNNING
        last = running.job.stop_with_savepoint().result(60)
        assert running.pipeline.wait(60) is JobStatus.FINISHED
    listed = catalog.load_all(str(config.checkpointing.savepoint_dir))
    assert [each.path for each in listed] == [last.path, first.path]
    assert [each.trigger for each in listed] == [SavepointTrigger.STOP, SavepointTrigger.MANUAL]
    taken = running.job.checkpoints.stats.history
    assert {c.checkpoint_id: c.trigger for c in taken}[first.checkpoint_id] is Trigger.SAVEPOINT
    assert last.checkpoint_id > first.checkpoint_id


@pytest.mark.parametrize("execution", ["micro-batch", "real-time"])
def test_a_job_without_pauses_stops_with_a_savepoint_of_its_last_batch(lab: Lab, execution: str):
    topic = lab.topic(*numbered(5))
    config = job(lab, topic, interval="1s" if execution == "real-time" else "0s", execution=execution)
    with lab.running(config) as running:
        wait_until(lambda: running.job.progress().rows == 5, "the rows are written")
        savepoint = running.job.stop_with_savepoint().result(60)
        assert running.pipeline.wait(60) is JobStatus.FINISHED
    newest = running.job.checkpoints.stats.history[-1]
    assert savepoint.checkpoint_id == newest.checkpoint_id


def test_without_a_directory_nothing_stops(lab: Lab):
    topic = lab.topic(*numbered(3))
    with lab.running(lab.numbers(topic, source={"stop": "never"})) as running:
        refused = running.job.stop_with_savepoint().exception(60)
        assert isinstance(refused, SavepointError)
        assert "savepoint-dir" in str(refused)
        assert running.job.status is JobStatus.RUNNING


def test_without_a_configured_directory_a_call_names_one(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    topic = lab.topic(*numbered(3))
    with lab.running(lab.numbers(topic, source={"stop": "never"})) as running:
        saved = running.pipeline.savepoint("relative", timeout=60)
        assert Path(saved.path).parent == tmp_path / "relative"
        assert running.pipeline.stop(savepoint_dir=str(tmp_path / "stopped")) is JobStatus.FINISHED
    assert [each.path for each in catalog.load_all(str(tmp_path / "relative"))] == [saved.path]
    assert len(catalog.load_all(str(tmp_path / "stopped"))) == 1
