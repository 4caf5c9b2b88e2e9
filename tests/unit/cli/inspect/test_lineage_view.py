"""What is read of a row's and a record's lineage."""

from __future__ import annotations

import json

import pytest

from milepost.cli.inspect.lineage_view import (
    print_record,
    print_row,
    record_lines,
    row_lines,
)
from milepost.errors import NotReachableError
from milepost.inspect.coverage import Certainty, Coverage
from milepost.inspect.lineage import CellLineage, ColumnTrace, Origin, RecordLineage, RowTrace, State
from milepost.inspect.origin import Place

ORIGIN = Origin(
    place=Place("orders", 0, 20, 0),
    time_ms=1_794_736_743_209,
    coverage=Coverage(Certainty.EXACT, 7),
    is_proved=True,
)
CELL = CellLineage(
    family="d", qualifier=b"n", version=20, value=b"2", state=State.VISIBLE, origins=(ORIGIN,), note="a note"
)


def test_a_row_is_readable() -> None:
    binary = CellLineage(family="d", qualifier=b"\xff", version=1, value=b"\0\1", state=State.COVERED)
    assert row_lines(b"k0", [CELL, binary]) == [
        "Row k0: 2 stored cells and deletes",
        "",
        "d:n = '2'",
        "  VISIBLE, version 20",
        "  orders:0:20 of 2026-11-15 09:59:03 UTC, checkpoint 7, generation 0",
        "  a note",
        "",
        "d:\\xff = hex:0001",
        "  COVERED, version 1",
    ]


def test_a_delete_of_a_family_is_named() -> None:
    marker = CellLineage(family="d", qualifier=b"", version=8, value=b"", state=State.MARKER)
    assert row_lines(b"k0", [marker])[2:] == ["d:* deleted", "  MARKER, version 8"]


def test_a_record_is_readable() -> None:
    covered = ColumnTrace(family="d", qualifier=b"n", state=State.COVERED, by=CELL)
    rows = (
        RowTrace(row=b"k0", version=5, is_delete=False, columns=(covered,)),
        RowTrace(row=b"k1", version=5, is_delete=True, columns=()),
    )
    found = RecordLineage(
        spot=("orders", 0, 5), time_ms=None, coverage=Coverage(Certainty.OR_OLDER, 3), rows=rows, note="said"
    )
    assert record_lines(found) == [
        "Record orders:0:5, checkpoint 3 or older (older than what is retained)",
        "  said",
        "",
        "wrote row k0, version 5",
        "  d:n COVERED (hidden by a newer value)",
        "    by version 20",
        "    orders:0:20 of 2026-11-15 09:59:03 UTC, checkpoint 7, generation 0",
        "",
        "deleted row k1, version 5",
        "  its marker is no longer stored",
    ]


def test_a_missing_row_is_an_error() -> None:
    with pytest.raises(NotReachableError, match="The table has no row k9"):
        print_row(b"k9", (), as_json=True)


def test_both_are_json_for_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    print_row(b"k0", [CELL], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["row"], document["cells"][0]["origins"][0]["offset"]) == ("k0", 20)
    found = RecordLineage(
        spot=("o", 0, 5), time_ms=1, coverage=Coverage(Certainty.EXACT, 3), rows=(), note=""
    )
    print_record(found, as_json=True)
    assert json.loads(capsys.readouterr().out)["checkpoint"] == 3
