"""The dry run of a restore, with what a broker said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.checkpoint.rig import START, checkpoint
from tests.unit.checkpoint.savepoint.conftest import fill
from tests.unit.checkpoint.savepoint.test_job_outline import config
from tests.unit.checkpoint.savepoint.test_write import savepoint
from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.model import Acknowledgement
from milepost.checkpoint.savepoint.write import finish, pin
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import PreflightError
from milepost.inspect import restore_check
from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.restore_check import RestoreCheck, check_restore, check_restore_offline
from milepost.inspect.retention import Standing, Verdict

RESTORABLE = Verdict(Standing.RESTORABLE)
GONE = Verdict(Standing.UNRESTORABLE, note="the partition does not exist")


def found(tmp_path: Path, *partitions: PartitionOffsets, rows: int = 0) -> RestoreCheck:
    target = LocalStore(tmp_path / "savepoints")
    stored = replace(
        checkpoint(3),
        completed_at=START + timedelta(seconds=2),
        acknowledgements=(Acknowledgement(participant="writer/0", at=START, rows=rows),),
    )
    return RestoreCheck(savepoint=savepoint(target), checkpoint=stored, partitions=partitions, differences=())


def partition(
    number: int, at: int | None, latest: int | None, verdict: Verdict = RESTORABLE
) -> PartitionOffsets:
    return PartitionOffsets(
        topic="orders", partition=number, checkpoint=at, earliest=5, latest=latest, verdict=verdict
    )


def test_what_is_replayed_and_about_how_long(tmp_path: Path):
    made = found(tmp_path, partition(0, 10, 110), partition(1, None, 15), rows=100)
    assert made.replayed == 110
    assert made.seconds == pytest.approx(2.2)
    assert made.unrestorable == []
    assert found(tmp_path, partition(0, 10, 110)).seconds is None


def test_partitions_that_cannot_go_on_are_named(tmp_path: Path):
    made = found(tmp_path, partition(0, 10, 110), partition(1, 10, None, GONE))
    assert made.unrestorable == ["orders-1: the partition does not exist"]


def test_every_file_is_looked_at_before_the_broker_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def compare(*_: Any, **__: Any) -> list[Any]:
        asked.append(1)
        return []

    monkeypatch.setattr(restore_check, "compare", compare)
    target = LocalStore(tmp_path / "savepoints")
    taken = finish(pin(fill(SparkDirectory(tmp_path / "job")).store, target, savepoint(target)))
    made = check_restore(config(), taken, timeout=1, now_ms=0)
    assert asked == [1]
    assert any("the sink was console and is hbase" in each.what for each in made.differences)
    (tmp_path / "savepoints" / taken.name / "commits/3").unlink()
    with pytest.raises(PreflightError, match="is not the file of the savepoint"):
        check_restore(config(), taken, timeout=1, now_ms=0)
    assert asked == [1]


def test_files_and_job_are_looked_at_while_the_broker_is_away(tmp_path: Path):
    target = LocalStore(tmp_path / "savepoints")
    taken = finish(pin(fill(SparkDirectory(tmp_path / "job")).store, target, savepoint(target)))
    made = check_restore_offline(config(), taken, "Kafka does not answer.")
    assert made.unasked == "Kafka does not answer."
    assert {each.verdict.standing for each in made.partitions} <= {Standing.UNKNOWN}
    assert made.unrestorable == []
    assert made.differences
    (tmp_path / "savepoints" / taken.name / "commits/3").unlink()
    with pytest.raises(PreflightError, match="is not the file of the savepoint"):
        check_restore_offline(config(), taken, "")
