"""One dry run at a time, with a result that stays and a limit that is told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.rest.view.stock import saved

from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.errors import PreflightError
from milepost.inspect.restore_check import RestoreCheck
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.restore_checks import (
    FRESH_FOR,
    KEPT,
    LIMIT,
    RestoreCheckRun,
    RestoreChecks,
)

PATIENCE = 10.0


class Bench:
    """RestoreChecks whose dry run ends when the test says so."""

    def __init__(self, savepoint: Savepoint) -> None:
        self.savepoint = savepoint
        self.begun = 0
        self.may_end = threading.Event()
        self.error: Exception | None = None
        self.now = 0.0
        self.all = RestoreChecks(
            self.check_restore, lambda text: text.replace("hunter2", "***"), lambda: self.now
        )

    def check_restore(self, savepoint: Savepoint) -> Any:
        self.begun += 1
        assert self.may_end.wait(PATIENCE)
        if self.error:
            raise self.error
        return RestoreCheck(savepoint=savepoint, checkpoint=None, partitions=(), differences=())  # type: ignore[arg-type]

    def get_or_start(self, name: str = "a") -> RestoreCheckRun:
        return self.all.get_or_start(name, self.savepoint)

    def ended(self, name: str = "a") -> RestoreCheckRun:
        self.may_end.set()
        pause = threading.Event()
        for _ in range(500):
            known = self.all.last(name)
            if known is not None and known.ended_at is not None:
                return known
            pause.wait(0.01)
        raise AssertionError("not ended")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(saved(tmp_path / "job", tmp_path / "savepoints"))


def test_a_check_is_begun_once_and_its_result_stays(bench: Bench):
    assert bench.all.last("a") is None
    assert bench.get_or_start().ended_at is None
    assert bench.get_or_start().ended_at is None
    done = bench.ended()
    assert done.result is not None
    bench.now = FRESH_FOR - 1
    assert bench.get_or_start() == done
    assert bench.begun == 1
    bench.now = FRESH_FOR + 1
    assert bench.get_or_start().ended_at is None
    bench.ended()
    assert bench.begun == 2


def test_only_one_is_checked_at_a_time(bench: Bench):
    bench.get_or_start("a")
    with pytest.raises(Refusal, match="Savepoint a is being checked") as refused:
        bench.get_or_start("b")
    assert refused.value.status == 409
    bench.ended("a")
    bench.get_or_start("b")
    assert bench.ended("b").error is None


def test_a_refusal_is_a_result_without_secrets(bench: Bench):
    bench.error = PreflightError("Kafka says hunter2")
    bench.get_or_start()
    assert bench.ended().error == "Kafka says ***."


def test_a_check_that_does_not_end_is_said_to_be_so(bench: Bench):
    bench.get_or_start()
    bench.now = LIMIT + 1
    assert "did not finish within 60 s" in str(bench.get_or_start().error)
    assert bench.ended().error is not None
    bench.may_end.set()


def test_memory_is_bounded(bench: Bench):
    bench.may_end.set()
    for number in range(KEPT + 2):
        bench.get_or_start(str(number))
        bench.ended(str(number))
    assert bench.all.last("0") is None
    assert bench.all.last(str(KEPT + 1)) is not None
