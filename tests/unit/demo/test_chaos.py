"""The plan of faults, and which of them reach a job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from milepost.demo import chaos as chaos_module
from milepost.demo.chaos import Chaos, Fault, Kind, make_plan, run
from milepost.demo.driver import JobPosition
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
    assert make_plan(7, 20, has_services=True) == make_plan(7, 20, has_services=True)
    assert make_plan(7, 20, has_services=True) != make_plan(8, 20, has_services=True)


def test_services_get_faults_only_if_they_are_given() -> None:
    assert {fault.kind for fault in make_plan(1, 200, has_services=True)} == set(Kind)
    assert {fault.kind for fault in make_plan(1, 200, has_services=False)} == {
        Kind.KILL_DRIVER,
        Kind.PAUSE_DRIVER,
    }


def test_the_first_fault_is_a_kill() -> None:
    assert {make_plan(seed, 1, has_services=True)[0].kind for seed in range(50)} == {Kind.KILL_DRIVER}


def test_a_fault_is_a_sentence_and_a_document() -> None:
    fault = Fault(kind=Kind.PAUSE_HBASE, checkpoints=2, delay=0.25, seconds=1.5)
    assert str(fault) == "after 2 more checkpoints and 0.25 s: HBase is suspended for 1.5 s"
    assert json.loads(json.dumps(fault.document())) == {
        "fault": "pause-hbase",
        "checkpoints": 2,
        "delay": 0.25,
        "seconds": 1.5,
    }


def test_a_job_that_cannot_be_verified_is_refused(tmp_path: Path) -> None:
    file = pipeline(tmp_path, transform={"sql": "SELECT * FROM source"})
    with pytest.raises(PreflightError, match="transform"):
        run(Chaos(file=file, seed=1))


def test_a_directory_that_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    file = pipeline(tmp_path, checkpointing={"dir": "memory://bucket/job"})
    with pytest.raises(PreflightError, match="cannot watch"):
        run(Chaos(file=file, seed=1))


class FakeDriver:
    """A driver that completes a checkpoint on each poll and ends with the given exit codes."""

    made = 0
    checkpoint = 0
    ends: tuple[int | None, ...] = ()

    def __init__(self, _file: Path, log: Path, _layout: object) -> None:
        self.log, self.pid = log, 0
        ends = type(self).ends
        self.exit_code = ends[type(self).made] if type(self).made < len(ends) else None
        type(self).made += 1

    def wait_until(self, reached: Callable[[JobPosition], bool], what: str, **_: float) -> None:
        if self.exit_code is not None:
            raise JobFailedError(f"ended before {what}")
        while not reached(JobPosition(type(self).checkpoint, {("orders", 0): 9}, None)):
            type(self).checkpoint += 1

    def kill(self) -> None: ...

    def stop(self, *, timeout: float) -> int:
        return 0


@pytest.fixture
def fake_driver(monkeypatch: pytest.MonkeyPatch) -> type[FakeDriver]:
    class Own(FakeDriver):
        pass

    monkeypatch.setattr(chaos_module, "Driver", Own)
    monkeypatch.setattr(chaos_module, "read_position", lambda _: JobPosition(Own.checkpoint, {}, None))
    monkeypatch.setattr(chaos_module, "_ends", lambda _: {("orders", 0): 9})
    monkeypatch.setattr(chaos_module, "_MAX_DELAY", 0.0)
    monkeypatch.setattr(chaos_module, "verify_table", lambda *_: Report(records=9))
    return Own


def printed_lines(file: Path, faults: int) -> list[str]:
    said: list[str] = []
    run(Chaos(file=file, seed=1, faults=faults, say=said.append))
    return said


def test_a_killed_job_is_started_again_and_verified(fake_driver: type[FakeDriver], tmp_path: Path) -> None:
    said = printed_lines(pipeline(tmp_path), 1)
    assert fake_driver.made == 2
    assert said[-1] == "Comparing the table with the log"


def test_a_job_that_fails_of_it_is_started_again(fake_driver: type[FakeDriver], tmp_path: Path) -> None:
    fake_driver.ends = (1, 3)
    said = printed_lines(pipeline(tmp_path), 1)
    assert fake_driver.made == 4
    assert "   the job ended with exit code 3; starting it again" in said


def test_one_that_fails_always_is_an_error(fake_driver: type[FakeDriver], tmp_path: Path) -> None:
    fake_driver.ends = (1,) * 50
    with pytest.raises(JobFailedError):
        printed_lines(pipeline(tmp_path), 1)
    assert fake_driver.made < 10


def test_a_job_that_has_finished_is_not_started_again(fake_driver: type[FakeDriver], tmp_path: Path) -> None:
    fake_driver.ends = (0,)
    said = printed_lines(pipeline(tmp_path), 3)
    assert fake_driver.made == 1
    assert "   the job has finished; the remaining faults are skipped" in said
