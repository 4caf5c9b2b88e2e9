"""What ended the attempts, for Flink 1.20 and Flink 2."""

from __future__ import annotations

from tests.unit.rest.asgi import JOB, START, later

from milepost.checkpoint.store.history import ExceptionEntry
from milepost.rest.flink.exceptions import exceptions_body
from milepost.rest.timestamps import milliseconds


def entry(number: int, job_id: str = JOB) -> ExceptionEntry:
    return ExceptionEntry(
        at=later(number),
        job_id=job_id,
        attempt=number,
        what=f"It failed {number}",
        why="so it is",
        fix="Do",
    )


def test_both_shapes_tell_the_same():
    shown = exceptions_body([entry(2), entry(1)], JOB, 16)
    assert shown["root-exception"] == "It failed 2\nWhy: so it is\nFix: Do"
    assert shown["timestamp"] == milliseconds(START) + 2000
    assert [each["exceptionName"] for each in shown["exceptionHistory"]["entries"]] == [
        "It failed 2",
        "It failed 1",
    ]
    assert len(shown["all-exceptions"]) == 2
    assert shown["truncated"] is False


def test_without_a_failure_there_are_nulls():
    assert exceptions_body([], JOB, 16) == {
        "root-exception": None,
        "timestamp": None,
        "all-exceptions": [],
        "truncated": False,
        "exceptionHistory": {"entries": [], "truncated": False},
    }


def test_only_this_run_and_no_more_than_asked_for():
    shown = exceptions_body([entry(3), entry(2), entry(1, "other")], JOB, 1)
    assert (len(shown["exceptionHistory"]["entries"]), shown["truncated"]) == (1, True)
