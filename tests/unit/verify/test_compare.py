"""The checker finds each kind of corruption, and nothing in a faithful table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.verify.faithful import MAPPING, delete, in_scan_order, table, tombstone, upsert

from milepost.verify.compare import Cell, compare, visible
from milepost.verify.oracle import Record, expect
from milepost.verify.report import Kind
from milepost.verify.versions import Era

LOG = [
    upsert(0, "a", "ann", 1),
    upsert(1, "a", "ann", 2),
    upsert(2, "b", "bob", 3),
    delete(3, "b"),
    upsert(4, "c", "cyd", 4),
    delete(5, "c"),
    upsert(6, "c", "cem", 5),
    upsert(7, "d", None, 6),
]
AMOUNT_2 = b"\0\0\0\0\0\0\0\x02"


def kinds(cells: list[Cell], log: list[Record] = LOG) -> Counter[Kind]:
    return compare(expect(MAPPING, log), in_scan_order(cells)).counts


def without(
    cells: list[Cell], row: bytes, qualifier: bytes | None = None, version: int | None = None
) -> list[Cell]:
    return [
        c
        for c in cells
        if c.row != row
        or (qualifier is not None and c.qualifier != qualifier)
        or (version is not None and c.version != version)
    ]


def test_nothing_is_found_in_a_faithful_table() -> None:
    report = compare(expect(MAPPING, LOG), table(LOG))
    assert report.is_verified
    assert report.line == "VERIFIED records=8 missing=0 extra=0 stale=0 duplicates=0"


def test_nothing_is_found_after_a_compaction_has_pruned_what_is_hidden() -> None:
    compacted = [Cell(r, f, q, version, "Put", value) for r, f, q, value, version in readers_see(table(LOG))]
    assert compare(expect(MAPPING, LOG), compacted).is_verified


def readers_see(cells: list[Cell]) -> list[tuple[bytes, str, bytes, bytes, int]]:
    rows = sorted({c.row for c in cells})
    return [
        (row, family, qualifier, value, version)
        for row in rows
        for (family, qualifier), (value, version) in visible([c for c in cells if c.row == row]).items()
    ]


def test_a_dropped_row_is_missing() -> None:
    assert kinds(without(table(LOG), b"a")) == {Kind.MISSING: 2}


def test_a_dropped_cell_without_older_versions_is_missing() -> None:
    assert kinds(without(table(LOG), b"d", qualifier=b"amount")) == {Kind.MISSING: 1}


def test_a_dropped_newest_version_is_stale() -> None:
    assert kinds(without(table(LOG), b"a", qualifier=b"amount", version=1)) == {Kind.STALE: 1}


def test_a_second_copy_with_server_time_is_a_duplicate() -> None:
    copy = Cell(b"a", "d", b"amount", 1_790_000_000_000, "Put", AMOUNT_2)
    assert kinds([*table(LOG), copy]) == {Kind.ALIEN_VERSION: 1}


def test_a_second_copy_below_the_newest_is_a_duplicate() -> None:
    # Offset 3 exists, but its record did not write this row.
    log = [*LOG, upsert(8, "a", "ann", 9)]
    copy = Cell(b"a", "d", b"amount", 3, "Put", AMOUNT_2)
    assert kinds([*table(log), copy], log) == {Kind.ALIEN_VERSION: 1}


def test_a_changed_value_is_wrong() -> None:
    cells = [c._replace(value=b"eve") if c[:4] == (b"c", "d", b"customer", 6) else c for c in table(LOG)]
    assert kinds(cells) == {Kind.WRONG_VALUE: 1}


def test_a_changed_value_of_a_hidden_version_is_wrong() -> None:
    cells = [c._replace(value=b"eve") if c[:4] == (b"a", "d", b"customer", 0) else c for c in table(LOG)]
    assert kinds(cells) == {Kind.WRONG_VALUE: 1}


def test_a_deleted_row_that_lives_is_resurrected() -> None:
    cells = [c for c in table(LOG) if not (c.row == b"b" and c.type == "DeleteFamily")]
    assert kinds(cells) == {Kind.RESURRECTED: 2}


def test_a_deleted_row_written_again_with_server_time_is_resurrected_and_a_duplicate() -> None:
    again = Cell(b"b", "d", b"customer", 1_790_000_000_000, "Put", b"bob")
    assert kinds([*table(LOG), again]) == {Kind.RESURRECTED: 1, Kind.ALIEN_VERSION: 1}


def test_a_row_no_record_wrote_is_extra() -> None:
    assert kinds([*table(LOG), Cell(b"zoe", "d", b"customer", 2, "Put", b"zoe")]) == {Kind.EXTRA: 1}


def test_a_column_no_record_can_write_is_extra() -> None:
    assert kinds([*table(LOG), Cell(b"a", "d", b"colour", 1, "Put", b"red")]) == {Kind.EXTRA: 1}


def test_a_column_that_was_always_null_is_extra_where_it_has_a_value() -> None:
    assert kinds([*table(LOG), Cell(b"d", "d", b"customer", 7, "Put", b"dan")]) == {Kind.EXTRA: 1}


def test_a_marker_no_record_explains_is_found_with_what_it_hides() -> None:
    marker = Cell(b"a", "d", b"", 1_790_000_000_000, "DeleteFamily", b"")
    assert kinds([*table(LOG), marker]) == {Kind.ALIEN_VERSION: 1, Kind.MISSING: 2}


def test_a_column_marker_is_no_row_delete() -> None:
    cells = [c for c in table(LOG) if not (c.row == b"b" and c.type == "DeleteFamily")]
    markers = [Cell(b"b", "d", q, 3, "DeleteColumn", b"") for q in (b"customer", b"amount")]
    assert kinds([*cells, *markers]) == {Kind.ALIEN_VERSION: 2}


def test_another_family_is_another_writers() -> None:
    report = compare(
        expect(MAPPING, LOG), in_scan_order([*table(LOG), Cell(b"a", "x", b"q", 99, "Put", b"")])
    )
    assert report.is_verified
    assert report.foreign == 1


def test_a_version_older_than_the_log_is_neither_proved_nor_refuted() -> None:
    log = [r for r in LOG if r.offset >= 2]
    expected = expect(MAPPING, log)
    expected.horizons = {("orders", 0): 2}
    report = compare(expected, table(LOG))
    assert report.is_verified
    assert report.beyond == 4


def test_a_truncated_log_excuses_no_resurrection() -> None:
    expected = expect(MAPPING, [delete(3, "b")])
    expected.horizons = {("orders", 0): 3}
    cells = [Cell(b"b", "d", b"customer", 2, "Put", b"bob")]
    assert compare(expected, cells).counts == {Kind.RESURRECTED: 1}


def test_cells_of_a_row_that_come_apart_are_refused() -> None:
    cells = table(LOG)
    with pytest.raises(ValueError, match="not adjacent"):
        compare(expect(MAPPING, LOG), [*cells, cells[0]])


@pytest.mark.parametrize(
    ("markers", "seen"),
    [
        ([], 3),
        ([("", 2, "DeleteFamily")], 3),
        ([("", 3, "DeleteFamily")], None),
        ([("q", 3, "DeleteColumn")], None),
        ([("other", 3, "DeleteColumn")], 3),
        ([("q", 3, "Delete")], 2),
        ([("q", 2, "Delete")], 3),
        ([("", 3, "DeleteFamilyVersion")], 2),
        ([("q", 3, "Delete"), ("q", 2, "DeleteColumn")], None),
    ],
)
def test_markers_hide_as_in_hbase(markers: list[tuple[str, int, str]], seen: int | None) -> None:
    puts = [Cell(b"r", "d", b"q", version, "Put", b"%d" % version) for version in (3, 2, 1)]
    cells = [Cell(b"r", "d", q.encode(), version, kind, b"") for q, version, kind in markers]
    expected = {} if seen is None else {("d", b"q"): (b"%d" % seen, seen)}
    assert visible([*cells, *puts]) == expected


def test_columns_are_deleted_one_by_one_where_the_mapping_says_so() -> None:
    mapping = replace(MAPPING, delete="columns")
    log = [upsert(0, "a", "ann", 1), delete(1, "a")]
    markers = [Cell(b"a", "d", q, 1, "DeleteColumn", b"") for q in (b"customer", b"amount")]
    puts = [c for c in table(log) if c.type == "Put"]
    assert compare(expect(mapping, log), in_scan_order([*puts, *markers])).is_verified
    assert compare(expect(mapping, log), table(log)).counts == {Kind.ALIEN_VERSION: 1}


def test_a_null_deletes_its_column_where_the_mapping_says_so() -> None:
    mapping = replace(MAPPING, nulls="delete")
    log = [upsert(0, "a", "ann", 1), upsert(1, "a", None, 2)]
    marker = Cell(b"a", "d", b"customer", 1, "DeleteColumn", b"")
    assert compare(expect(mapping, log), in_scan_order([*table(log), marker])).is_verified
    assert compare(expect(mapping, log), table(log)).counts == {Kind.RESURRECTED: 1}


# --- any log, any single corruption ---

KEYS = ("a", "b", "c", "d")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "upsert", "delete", "tombstone"]),
        st.sampled_from(KEYS),
        st.sampled_from([None, "ann", "bob", "cyd"]),
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    ),
    min_size=1,
    max_size=40,
)


def as_log(steps: list[tuple[str, str, str | None, int | None]]) -> list[Record]:
    """Return records over four partitions; a key stays in its partition, offsets of all begin at 0."""
    log: list[Record] = []
    ends: Counter[int] = Counter()
    for operation, key, customer, amount in steps:
        partition = KEYS.index(key) % 3
        offset = ends[partition]
        ends[partition] += 1
        if operation == "upsert":
            log.append(upsert(offset, key, customer, amount, partition))
        else:
            log.append((delete if operation == "delete" else tombstone)(offset, key, partition))
    return log


def shown(cells: list[Cell]) -> list[Cell]:
    """Return the puts that a reader sees."""
    seen = []
    for row in {c.row for c in cells}:
        mine = [c for c in cells if c.row == row]
        newest = visible(mine)
        seen += [
            c for c in mine if c.type == "Put" and newest.get((c.family, c.qualifier)) == (c.value, c.version)
        ]
    return in_scan_order(seen)


@given(STEPS)
def test_a_faithful_table_has_no_findings(steps: list[tuple[str, str, str | None, int | None]]) -> None:
    log = as_log(steps)
    report = compare(expect(MAPPING, log), table(log))
    assert report.is_verified, report.lines()
    assert report.records == len(log)


@given(STEPS, st.data())
def test_a_table_pruned_of_hidden_cells_has_no_findings(
    steps: list[tuple[str, str, str | None, int | None]], data: st.DataObject
) -> None:
    log = as_log(steps)
    cells = table(log)
    hidden = [c for c in cells if c.type == "Put" and c not in shown(cells)]
    gone = data.draw(st.sets(st.sampled_from(hidden))) if hidden else set()
    assert compare(expect(MAPPING, log), [c for c in cells if c not in gone]).is_verified


@settings(max_examples=300)
@given(STEPS, st.sampled_from(["drop", "duplicate", "stale", "resurrect", "change", "add"]), st.data())
def test_a_single_corruption_is_found(
    steps: list[tuple[str, str, str | None, int | None]], corruption: str, data: st.DataObject
) -> None:
    log = as_log(steps)
    cells = table(log)
    damaged, wanted = corrupt(cells, log, corruption, data)
    if damaged is None:
        return
    counts = compare(expect(MAPPING, log), in_scan_order(damaged)).counts
    assert set(counts) & wanted, (corruption, counts)


def corrupt(
    cells: list[Cell], log: list[Record], corruption: str, data: st.DataObject
) -> tuple[list[Cell] | None, set[Kind]]:
    """Return the cells with one fault in them, and the kinds of which at least one must be found."""
    seen = shown(cells)
    if corruption == "add":
        row = data.draw(st.sampled_from([b"a", b"nobody"]))
        return [*cells, Cell(row, "d", b"customer", len(log) + 7, "Put", b"eve")], {
            Kind.EXTRA,
            Kind.ALIEN_VERSION,
            Kind.RESURRECTED,
        }
    if corruption == "resurrect":
        markers = [c for c in cells if c.type == "DeleteFamily"]
        rows = {c.row for c in cells if c.type == "Put"}
        dead = [m for m in markers if m.row in rows and m.row not in {c.row for c in seen}]
        if not dead:
            return None, set()
        row = data.draw(st.sampled_from(dead)).row
        return [c for c in cells if c.row != row or c.type == "Put"], {Kind.RESURRECTED}
    if not seen:
        return None, set()
    victim = data.draw(st.sampled_from(seen))
    column = [c for c in cells if (c.row, c.qualifier) == (victim.row, victim.qualifier)]
    if corruption == "drop":
        return [c for c in cells if c not in column], {Kind.MISSING}
    if corruption == "stale":
        return [c for c in cells if c != victim], {Kind.MISSING, Kind.STALE}
    if corruption == "change":
        return [c._replace(value=c.value + b"!") if c == victim else c for c in cells], {Kind.WRONG_VALUE}
    version = data.draw(st.integers(0, 2**62).filter(lambda v: all(v != c.version for c in column)))
    return [*cells, victim._replace(version=version)], {Kind.ALIEN_VERSION}


def test_what_a_batch_wrote_before_it_was_run_again_is_no_finding() -> None:
    eras = (Era(0, False, {}), Era(1, True, {0: 10, 1: 10}, since=100, until=200))
    grown = replace(MAPPING, eras={"orders": eras})
    log = [upsert(15, "a", "x", 1), upsert(11, "a", "y", 2, partition=1), delete(12, "a", partition=1)]
    log = [record._replace(timestamp_ms=110 + i) for i, record in enumerate(log)]
    right = [c._replace(version=eras[1].version(p, c.version, m)) for c, p, m in _with_origin(log)]
    first_try = [cell for cell, _, _ in _with_origin(log)]
    assert compare(expect(grown, log), in_scan_order(right + first_try)).is_verified
    stranger = [c._replace(version=3) for c in first_try if c.type == "Put"][:1]
    found = compare(expect(grown, log), in_scan_order(right + stranger)).counts
    assert found == {Kind.ALIEN_VERSION: 1}
    assert not compare(expect(grown, log), in_scan_order(first_try)).is_verified


def _with_origin(log: list[Record]) -> list[tuple[Cell, int, int]]:
    return [(cell, r.partition, r.timestamp_ms or 0) for r in log for cell in table([r])]


def test_two_partitions_in_one_millisecond_of_a_growth_have_no_order() -> None:
    eras = (Era(0, False, {0: 0, 1: 0}), Era(1, True, {0: 5, 1: 5, 2: 0}, since=0, until=10))
    grown = replace(MAPPING, eras={"orders": eras})
    log = [upsert(5, "a", "ann", 1), upsert(5, "a", "eve", 1, partition=1)]
    versions = {eras[1].version(record.partition, record.offset, 0) for record in log}
    assert len(versions) == 1
    for record in log:
        cells = [cell._replace(version=min(versions)) for cell in table([record])]
        assert compare(expect(grown, log), cells).is_verified
