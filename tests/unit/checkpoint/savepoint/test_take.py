"""Savepoints of a running coordinator: one at a time, beside the checkpoints, failing alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.rig import Rig
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.listeners import CoordinatorListener
from milepost.checkpoint.model import Trigger
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import SavepointTrigger
from milepost.checkpoint.savepoint.take import Savepoints, Subject
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.store import Store
from milepost.errors import CheckpointError, SavepointError, SavepointInProgressError


class Place:
    def __init__(self, spark: SparkDirectory, directory: Path | None) -> None:
        self.rig = Rig().start(last=2)
        job = JobIdentity(name="orders", job_id="6b1e2f000000")
        where = None if directory is None else str(directory)
        subject = Subject(store=spark.store, job=job, outline={}, directory=where)
        self.savepoints = Savepoints(subject, self.rig.coordinator)

    def batch(self, number: int = 3) -> None:
        self.rig.advance()
        assert self.rig.batch(number) == ""
        self.rig.advance()


@pytest.fixture
def place(filled: SparkDirectory, tmp_path: Path) -> Place:
    return Place(filled, tmp_path / "savepoints")


def test_it_is_taken_of_the_next_checkpoint_and_that_has_its_trigger(place: Place, tmp_path: Path):
    taking = place.savepoints.trigger()
    assert not taking.done()
    place.batch()
    savepoint = taking.result(10)
    assert savepoint.checkpoint_id == 3
    assert place.rig.ledger.completed[-1].trigger is Trigger.SAVEPOINT
    assert catalog.load_all(str(tmp_path / "savepoints")) == [savepoint]
    assert not place.savepoints.is_busy


def test_a_second_one_at_the_same_time_is_refused_and_the_first_goes_on(place: Place):
    first, second = place.savepoints.trigger(), place.savepoints.trigger()
    assert isinstance(second.exception(0), SavepointInProgressError)
    place.batch()
    assert first.result(10).checkpoint_id == 3
    assert not place.savepoints.trigger().done()


def test_the_request_may_name_another_directory(place: Place, tmp_path: Path):
    taking = place.savepoints.trigger(str(tmp_path / "other"))
    place.batch()
    assert taking.result(10).path.startswith(str(tmp_path / "other"))


def test_without_a_directory_it_is_refused_and_no_checkpoint_is_asked_for(filled: SparkDirectory):
    place = Place(filled, None)
    refused = place.savepoints.trigger().exception(0)
    assert "savepoint-dir" in str(refused)
    assert place.rig.gate.opened == 0
    assert not place.savepoints.is_busy


def test_a_savepoint_that_fails_does_not_fail_the_checkpoint(place: Place, filled: SparkDirectory):
    (filled.root / "state/0/0/4.changelog").unlink()
    taking = place.savepoints.trigger()
    place.batch()
    assert isinstance(taking.exception(10), SavepointError)
    assert place.rig.coordinator.failure is None
    assert [c.checkpoint_id for c in place.rig.ledger.completed] == [3]
    assert not place.savepoints.is_busy


def test_a_directory_that_cannot_be_written_says_so(filled: SparkDirectory, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    place = Place(filled, tmp_path / "file")
    taking = place.savepoints.trigger()
    place.batch()
    error = taking.exception(10)
    assert isinstance(error, SavepointError)
    assert "can read and write" in error.fix
    assert str(tmp_path / "file") in error.why


def test_a_checkpoint_that_fails_leaves_no_savepoint(place: Place, tmp_path: Path):
    taking = place.savepoints.trigger()
    place.rig.ledger.full = True
    place.batch()
    assert isinstance(taking.exception(10), CheckpointError)
    assert catalog.load_all(str(tmp_path / "savepoints")) == []
    assert not place.savepoints.is_busy


def test_of_the_newest_when_nothing_runs_any_more(place: Place):
    savepoint = place.savepoints.of_newest().result(10)
    assert (savepoint.checkpoint_id, savepoint.trigger) == (3, SavepointTrigger.STOP)


def test_without_a_checkpoint_there_is_nothing_to_save(spark: SparkDirectory, tmp_path: Path):
    place = Place(spark, tmp_path / "savepoints")
    assert "No checkpoint has completed" in str(place.savepoints.of_newest().exception(10))


def test_what_step_9_has_committed_is_part_of_it(place: Place, filled: SparkDirectory):
    class Sink(CoordinatorListener):
        def completed(self, _checkpoint: Any) -> None:
            filled.write("milepost/sink.json", '{"checkpoint": 3}')

    place.rig.coordinator._listeners = (Sink(),)
    taking = place.savepoints.trigger()
    place.batch()
    savepoint = taking.result(10)
    assert Store.at(savepoint.path).read("milepost/sink.json") == b'{"checkpoint": 3}'
