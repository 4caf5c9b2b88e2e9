"""list, status, cancel and stop as a person reads them; the commands themselves run in tests/system/test_rest.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from milepost.cli import control
from milepost.cli.control import list_lines, status_lines
from milepost.errors import MilepostError, NotReachableError

RUNNING = {
    "name": "orders",
    "id": "a" * 32,
    "address": "http://127.0.0.1:8081",
    "directory": "/data/orders",
    "state": "RUNNING",
    "start-time": 1_767_225_600_000,
    "checkpoint-id": 12,
}
STATUS = RUNNING | {
    "restarts": 1,
    "checkpoints": {
        "completed": 13,
        "failed": 2,
        "in-progress": 1,
        "completed-in-this-run": 4,
        "failed-in-this-run": 0,
        "restored-from": 8,
    },
    "pending": {"id": 13, "acknowledged": [{}], "missing": ["audit", "writer/1"]},
    "rows": 1234,
    "rejected": {"CORRUPT": 3, "NO_CHANGE": 2},
    "late": {"orders": 500, "customers": 0},
    "offsets": {"orders": {"10": 7, "2": 1000}},
}


def test_no_job():
    assert list_lines([]) == ["No running jobs."]


def test_a_job_per_line():
    heading, line = list_lines([RUNNING])
    assert heading.split() == ["name", "id", "state", "since", "(UTC)", "checkpoint", "address"]
    assert line.split() == [
        "orders",
        "a" * 32,
        "RUNNING",
        "2026-01-01",
        "00:00:00",
        "12",
        "http://127.0.0.1:8081",
    ]


def test_one_that_does_not_answer_is_shown():
    line = list_lines([RUNNING | {"state": "UNREACHABLE", "start-time": None, "checkpoint-id": None}])[1]
    assert "UNREACHABLE" in line


def test_status():
    lines = status_lines(STATUS)
    assert lines[0] == f"Job orders is RUNNING, id {'a' * 32}."
    assert "13 completed, 2 failed, 1 in progress; newest 12" in lines[2]
    assert lines[3].strip() == "this run:     4 completed, 0 failed; restored from checkpoint 8"
    assert lines[4].strip() == "rows:         1,234, rejected 3, late 500"
    assert lines[5].strip() == "late:         orders 500, customers 0"
    assert lines[6].strip() == "in progress:  checkpoint 13, acks 1/3"
    assert [line.split() for line in lines[-2:]] == [["orders", "2", "1,000"], ["orders", "10", "7"]]


def test_status_before_the_first_checkpoint():
    counts = {**STATUS["checkpoints"], "restored-from": None}  # type: ignore[dict-item]
    changed = {"checkpoint-id": None, "pending": None, "offsets": {}, "checkpoints": counts, "late": {"a": 0}}
    lines = status_lines(STATUS | changed)
    assert "newest none yet" in lines[2]
    assert "restored from none" in lines[3]
    assert len(lines) == 5


class GoneJob:
    """Accepts a cancellation and answers with these states, then nothing more."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)

    def patch(self, _path: str) -> dict[str, str]:
        return {}

    def get(self, _path: str) -> dict[str, str]:
        if not self.states:
            raise NotReachableError("No job answers")
        return {"status": self.states.pop(0)}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["CANCELLING", "CANCELED"], None),
        (["CANCELLING", "FAILED"], "was not cancelled: it is FAILED"),
        (["CANCELLING"], "did not report how it ended"),
    ],
    ids=["cancelled", "failed", "gone"],
)
def test_cancel_says_what_it_was_told_and_nothing_else(
    states: list[str],
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    connection = SimpleNamespace(client=GoneJob(*states), job_id="a" * 32, path="/jobs/x")
    monkeypatch.setattr(control, "connect", lambda *_: connection)
    if expected is None:
        control.cancel("orders")
        assert f"Cancelled job {'a' * 32}." in capsys.readouterr().out
        return
    with pytest.raises(MilepostError, match=expected):
        control.cancel("orders")
    assert "Cancelled" not in capsys.readouterr().out
