"""The plan of faults, and which of them reach a job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from milepost.demo import chaos as chaos_module
from milepost.demo.chaos import Chaos, Fault, Kind, planned, run
from milepost.demo.driver import Standing
from milepost.errors import JobFailedError, PreflightError
from milepost.verify import Report

HBASE = {"quorum": "z:1", "table": "t", "row-key": ["id"], "columns": {"d": ["v"]}}
KAFKA = {"bootstrap-servers": "b:1", "topics": ["orders"], "format": "json", "schema": "id STRING, v STRING"}


def pipeline(folder: Path, **sections: object) -> Path:
    document = {
        "name": "job",
        "source": {"kafka": KAFKA},
        "sink": {"hbase": HBASE},
        "checkpointing": {"dir": str(folder / "checkpoint")},
    }
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(document | sections))
    return file


def test_the_same_seed_gives_the_same_plan() -> None:
    assert planned(7, 20, has_services=True) == planned(7, 20, has_services=True)
    assert planned(7, 20, has_services=True) != planned(8, 20, has_services=True)


def test_services_are_hurt_only_where_they_are_named() -> None:
    assert {fault.kind for fault in planned(1, 200, has_services=True)} == set(Kind)
    assert {fault.kind for fault in planned(1, 200, has_services=False)} == {
        Kind.KILL_DRIVER,
        Kind.PAUSE_DRIVER,
    }


def test_the_first_fault_is_a_kill() -> None:
    assert {planned(seed, 1, has_services=True)[0].kind for seed in range(50)} == {Kind.KILL_DRIVER}


def test_a_fault_is_a_sentence_and_a_document() -> None:
    fault = Fault(kind=Kind.PAUSE_HBASE, checkpoints=2, delay=0.25, seconds=1.5)
    assert str(fault) == "after 2 more checkpoints and 0.25 s HBase stands still for 1.5 s"
    assert json.loads(json.dumps(fault.document())) == {
        "fault": "pause-hbase",
        "checkpoints": 2,
        "delay": 0.25,
        "seconds": 1.5,
    }


def test_a_job_that_could_not_be_proved_is_not_hurt(tmp_path: Path) -> None:
    file = pipeline(tmp_path, transform={"sql": "SELECT * FROM source"})
    with pytest.raises(PreflightError, match="transform"):
        run(Chaos(file=file, seed=1))


def test_a_directory_that_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    file = pipeline(tmp_path, checkpointing={"dir": "memory://bucket/job"})
    with pytest.raises(PreflightError, match="cannot watch"):
        run(Chaos(file=file, seed=1))


class Stand:
    """A driver that completes a checkpoint whenever it is looked at, and ends as it is told to."""

    made = 0
    checkpoint = 0
    ends: tuple[int | None, ...] = ()

    def __init__(self, _file: Path, log: Path, _layout: object) -> None:
        self.log, self.pid = log, 0
        ends = type(self).ends
        self.exit_code = ends[type(self).made] if type(self).made < len(ends) else None
        type(self).made += 1

    def wait_until(self, reached: Callable[[Standing], bool], what: str, **_: float) -> None:
        if self.exit_code is not None:
            raise JobFailedError(f"ended before {what}")
        while not reached(Standing(type(self).checkpoint, {("orders", 0): 9}, None)):
            type(self).checkpoint += 1

    def kill(self) -> None: ...

    def stop(self, *, timeout: float) -> int:
        return 0


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> type[Stand]:
    class Own(Stand):
        pass

    monkeypatch.setattr(chaos_module, "Driver", Own)
    monkeypatch.setattr(chaos_module, "look", lambda _: Standing(Own.checkpoint, {}, None))
    monkeypatch.setattr(chaos_module, "_ends", lambda _: {("orders", 0): 9})
    monkeypatch.setattr(chaos_module, "_LONGEST_DELAY", 0.0)
    monkeypatch.setattr(chaos_module, "prove", lambda *_: Report(records=9))
    return Own


def told(file: Path, faults: int) -> list[str]:
    said: list[str] = []
    run(Chaos(file=file, seed=1, faults=faults, say=said.append))
    return said


def test_a_killed_job_is_started_again_and_proved(stand: type[Stand], tmp_path: Path) -> None:
    said = told(pipeline(tmp_path), 1)
    assert stand.made == 2
    assert said[-1] == "Comparing the table with the log"


def test_a_job_that_fails_of_it_is_started_again(stand: type[Stand], tmp_path: Path) -> None:
    stand.ends = (1, 3)
    said = told(pipeline(tmp_path), 1)
    assert stand.made == 4
    assert "   the job ended with exit code 3; starting it again" in said


def test_one_that_fails_always_is_an_error(stand: type[Stand], tmp_path: Path) -> None:
    stand.ends = (1,) * 50
    with pytest.raises(JobFailedError):
        told(pipeline(tmp_path), 1)
    assert stand.made < 10


def test_a_job_that_has_come_to_its_end_is_left_in_peace(stand: type[Stand], tmp_path: Path) -> None:
    stand.ends = (0,)
    said = told(pipeline(tmp_path), 3)
    assert stand.made == 1
    assert "   the job has come to its end; no further fault can reach it" in said
