"""Records after the boundary: whatever part of them is in the table accuses nothing, and excuses nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.verify.faithful import MAPPING, delete, in_scan_order, table, tombstone, upsert
from tests.unit.verify.test_compare import STEPS, as_log, shown

from milepost.verify.ahead import Ahead
from milepost.verify.compare import Cell, Comparison
from milepost.verify.oracle import Mapping, Record, expect
from milepost.verify.report import Kind, Report
from milepost.verify.versions import Era

Steps = list[tuple[str, str, str | None, int | None]]

BEFORE = [upsert(0, "a", "ann", 1), upsert(1, "b", "bob", 2), upsert(2, "c", "cyd", 3), delete(3, "c")]
AFTER = [upsert(4, "a", "eve", 4), tombstone(5, "b"), upsert(6, "c", "cem", 5), upsert(7, "d", "dan", 6)]


def verify(
    before: list[Record], after: list[Record], cells: list[Cell], mapping: Mapping = MAPPING, **known: Any
) -> Report:
    expected = expect(mapping, before)
    for name, value in known.items():
        setattr(expected, name, value)
    comparison = Comparison(expected)
    comparison.scan(in_scan_order(cells))
    ahead = Ahead(mapping, comparison.suspects)
    for record in after:
        ahead.apply(record)
    assert ahead.records == len(after)
    assert ahead.rows.keys() <= comparison.suspects.keys()
    return comparison.conclude(ahead.rows)


@pytest.mark.parametrize("written", range(len(AFTER) + 1))
def test_rows_that_are_written_ahead_are_counted(written: int) -> None:
    report = verify(BEFORE, AFTER, table(BEFORE + AFTER[:written]))
    assert report.is_verified, report.lines()
    assert (report.records, report.ahead) == (4, written)


def test_a_row_that_is_written_ahead_may_have_lost_what_it_hides() -> None:
    report = verify(BEFORE, AFTER, shown(table(BEFORE + AFTER)))
    assert report.is_verified, report.lines()


@given(STEPS, st.data())
def test_any_part_of_what_comes_after_the_boundary_accuses_nothing(steps: Steps, data: st.DataObject) -> None:
    log = as_log(steps)
    boundary = data.draw(st.integers(0, len(log)))
    before, after = log[:boundary], log[boundary:]
    written = [record for record in after if data.draw(st.booleans())]
    cells = table(before + written)
    assert verify(before, after, cells).is_verified
    assert verify(before, after, shown(cells)).is_verified, "HBase may forget what is hidden"


@given(STEPS, st.data())
def test_versions_need_not_follow_the_log(steps: Steps, data: st.DataObject) -> None:
    log = as_log(steps)
    before: list[Record] = []
    after: list[Record] = []
    for record in log:
        (before if data.draw(st.booleans()) else after).append(record)
    written = [record for record in after if data.draw(st.booleans())]
    assert verify(before, after, table(before + written)).is_verified


@given(STEPS, st.data())
def test_a_lost_cell_of_a_row_without_later_records_is_found(steps: Steps, data: st.DataObject) -> None:
    log = as_log(steps)
    boundary = data.draw(st.integers(0, len(log)))
    before, after = log[:boundary], log[boundary:]
    touched = {cell.row for cell in table(after)}
    cells = table(before + after)
    quiet = [cell for cell in shown(cells) if cell.row not in touched]
    if quiet:
        lost = data.draw(st.sampled_from(quiet))
        assert not verify(before, after, [cell for cell in cells if cell != lost]).is_verified


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (Cell(b"z", "d", b"customer", 4, "Put", b"eve"), {Kind.EXTRA: 1}),
        (Cell(b"a", "d", b"customer", 4, "Put", b"another"), {Kind.WRONG_VALUE: 1}),
        (Cell(b"a", "d", b"customer", 9, "Put", b"eve"), {Kind.ALIEN_VERSION: 1}),
        (Cell(b"a", "d", b"", 9, "DeleteFamily", b""), {Kind.MISSING: 2, Kind.ALIEN_VERSION: 1}),
    ],
)
def test_a_row_with_later_records_is_not_excused(damage: Cell, found: dict[Kind, int]) -> None:
    assert verify(BEFORE, AFTER, [*table(BEFORE), damage]).counts == found


def test_a_lost_row_is_found_though_a_later_record_writes_it_again() -> None:
    cells = [cell for cell in table(BEFORE) if cell.row != b"a"]
    assert verify(BEFORE, AFTER, cells).counts == {Kind.MISSING: 2}


def test_a_deleted_row_that_lives_is_found_though_a_later_record_writes_it_again() -> None:
    cells = [cell for cell in table(BEFORE) if cell.type == "Put"]
    assert verify(BEFORE, AFTER, cells).counts == {Kind.RESURRECTED: 2}


def test_of_two_values_with_one_version_the_table_may_have_either() -> None:
    mapping = replace(MAPPING, version="timestamp")
    before, after = [upsert(0, "a", "ann", 1)], [upsert(1, "a", "eve", 2)]
    later = [cell._replace(version=0) for cell in table(after)]
    assert verify(before, after, table(before), mapping).is_verified
    assert verify(before, after, later, mapping).is_verified
    other = [cell._replace(value=b"another") for cell in later]
    assert verify(before, after, other, mapping).counts == {Kind.WRONG_VALUE: 2}


def test_a_compaction_of_the_log_may_have_dropped_a_delete_for_a_later_record() -> None:
    # The log was: ann, a delete that the job has applied, eve. The delete is gone since eve is there.
    before, after = [upsert(0, "a", "ann", 1)], [upsert(2, "a", "eve", 2)]
    cells = table([upsert(0, "a", "ann", 1), delete(1, "a")])
    compacted: dict[str, Any] = {"compacted": frozenset(["orders"]), "horizons": {("orders", 0): 3}}
    assert verify(before, after, cells, **compacted).is_verified
    assert verify(before, [], cells, **compacted).counts == {Kind.MISSING: 2}
    assert verify(before, after, cells, horizons={("orders", 0): 3}).counts == {Kind.MISSING: 2}


def test_a_growth_that_the_job_has_not_seen_refuses_nothing() -> None:
    before, after = [upsert(5, "a", "ann", 1)], [upsert(0, "a", "eve", 2, partition=1)]
    assert verify(before, after, table(before)).is_verified


def test_what_a_batch_wrote_before_it_was_run_again_with_the_next_era_is_explained() -> None:
    eras = (Era(0, False, {0: 0}), Era(1, True, {0: 4}, since=0, until=10))
    grown = replace(MAPPING, eras={"orders": eras})
    first_try = table(AFTER)
    again = [cell._replace(version=eras[1].version(0, cell.version, 0)) for cell in first_try]
    for cells in (first_try, again, first_try + again):
        assert verify(BEFORE, AFTER, table(BEFORE) + cells, grown).counts == Counter()
