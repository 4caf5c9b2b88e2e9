"""Which starts wait for a service that does not answer, and for how long."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from milepost.config import Config
from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.job.startup.resume import has_checkpoint, prepare_by_strategy

OFFSETS = "v1\n{}\n" + json.dumps({"t": {"0": 3}})
SILENT = NotReachableError("HBase at h:2181 does not answer")


@dataclass
class FakeSpec:
    """Answers one `prepare` after the other."""

    config: Config
    answers: list[Any]
    discards_state: bool = False
    savepoint: Any = None
    asked: int = field(default=0)

    def prepare(self) -> Any:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, MilepostError):
            raise answer
        return answer


def spec(folder: Path, *answers: Any, attempts: int = 2, **more: Any) -> Any:
    config = Config(
        name="j",
        source={"kafka": {"bootstrap-servers": "b:9092", "topics": ["t"]}},
        sink={"hbase": {"quorum": "h", "table": "t", "row-key": ["key"], "columns": {"d": ["value"]}}},
        checkpointing={"dir": str(folder)},
        restart={"strategy": "fixed-delay", "attempts": attempts, "delay": "1ms"},
    )
    return FakeSpec(config, list(answers), **more)


@pytest.fixture(autouse=True)
def answers_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.job.startup.resume.prepare_job", FakeSpec.prepare)


@pytest.fixture
def run_before(tmp_path: Path) -> Path:
    for log, entry in (("offsets", OFFSETS), ("commits", "v1\n{}")):
        (tmp_path / log).mkdir()
        (tmp_path / log / "0").write_text(entry)
    return tmp_path


def test_a_job_that_has_run_before_waits_by_its_strategy(run_before: Path) -> None:
    told: list[tuple[str, float]] = []
    asked = spec(run_before, SILENT, SILENT, "prepared")
    prepared: Any = prepare_by_strategy(asked, lambda error, delay: told.append((error.what, delay)))
    assert prepared == "prepared"
    assert told == [(SILENT.what, 0.001)] * 2


def test_the_strategy_gives_up(run_before: Path) -> None:
    asked = spec(run_before, SILENT, SILENT, attempts=1)
    with pytest.raises(NotReachableError) as error:
        prepare_by_strategy(asked, lambda _error, _delay: None)
    assert error.value.exit_code == 3
    assert asked.asked == 2


@pytest.mark.parametrize("more", [{}, {"discards_state": True}, {"savepoint": "s"}])
def test_a_job_that_does_not_resume_is_refused_at_once(
    tmp_path: Path, run_before: Path, more: dict[str, Any]
) -> None:
    asked = spec(run_before if more else tmp_path / "new", SILENT, **more)
    assert not has_checkpoint(asked)
    with pytest.raises(NotReachableError):
        prepare_by_strategy(asked, lambda _error, _delay: None)
    assert asked.asked == 1


def test_a_refusal_is_not_waited_for(run_before: Path) -> None:
    asked = spec(run_before, PreflightError("Table 't' is disabled"))
    with pytest.raises(PreflightError):
        prepare_by_strategy(asked, lambda _error, _delay: None)
