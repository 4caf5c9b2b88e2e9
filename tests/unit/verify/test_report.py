"""Counts, examples, and the line that scripts read."""

from __future__ import annotations

import json

import pytest

from milepost.errors import VerificationError
from milepost.verify.report import EXAMPLES, Finding, Kind, Report


def finding(kind: Kind, row: bytes = b"r") -> Finding:
    return Finding(kind, row, "d", b"q", "'a' @ 2", "'b' @ 1")


def test_the_line_of_a_table_that_equals_its_log() -> None:
    report = Report(records=200_000)
    assert report.lines() == ["VERIFIED records=200000 missing=0 extra=0 stale=0 duplicates=0"]


@pytest.mark.parametrize(
    ("kind", "counter"),
    [
        (Kind.MISSING, "missing"),
        (Kind.EXTRA, "extra"),
        (Kind.RESURRECTED, "extra"),
        (Kind.STALE, "stale"),
        (Kind.WRONG_VALUE, "stale"),
        (Kind.ALIEN_VERSION, "duplicates"),
    ],
)
def test_every_kind_is_counted_in_one_counter(kind: Kind, counter: str) -> None:
    report = Report(records=3)
    report.add(finding(kind))
    expected = {"missing": 0, "extra": 0, "stale": 0, "duplicates": 0} | {counter: 1}
    assert report.line == "DIFFERENCES records=3 " + " ".join(f"{k}={v}" for k, v in expected.items())
    assert not report.is_verified


def test_the_document_has_the_counters_of_the_line_and_the_examples() -> None:
    report = Report(records=3, rows=2, cells=4, notes=["a note"])
    report.add(finding(Kind.STALE))
    document = report.document()
    assert (document["verified"], document["records"], document["stale"], document["extra"]) == (
        False,
        3,
        1,
        0,
    )
    assert document["differences"] == {"STALE": {"count": 1, "examples": [str(finding(Kind.STALE))]}}
    assert json.loads(json.dumps(document)) == document


def test_examples_are_few_and_the_line_is_last() -> None:
    report = Report(records=99, notes=["a note"])
    for number in range(EXAMPLES + 5):
        report.add(finding(Kind.STALE, b"row-%d" % number))
    lines = report.lines()
    assert lines[0] == "a note"
    assert lines[1].startswith("STALE 15: ")
    assert lines[2] == "  STALE row 'row-0' d:q: log 'a' @ 2; table 'b' @ 1"
    assert lines[-2] == "  … and 5 more"
    assert lines[-1] == report.line


def test_differences_are_an_error_with_exit_code_4() -> None:
    report = Report(records=1)
    report.add(finding(Kind.MISSING))
    error = report.error()
    assert isinstance(error, VerificationError)
    assert error.exit_code == 4
    assert "MISSING row 'r' d:q" in str(error)


def test_what_is_after_the_boundary_is_told_before_the_line() -> None:
    report = Report(records=9, boundary="checkpoint 7", checkpoint=7, not_yet_read=1350, ahead=12)
    assert report.lines() == [
        "not yet read: 1,350 (records after checkpoint 7)",
        "written ahead of checkpoint 7: 12 rows, all consistent with the log",
        "VERIFIED records=9 missing=0 extra=0 stale=0 duplicates=0",
    ]
    document = report.document()
    assert (document["checkpoint"], document["not-yet-read"], document["ahead"]) == (7, 1350, 12)
