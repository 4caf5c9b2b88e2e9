"""From cells to records and back; log, table and checkpoints are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from milepost.inspect.coverage import Certainty, Coverage
from milepost.inspect.lineage import Lineage, State, state_of
from milepost.inspect.origin import Place
from milepost.inspect.records import RecordPosition
from milepost.verify.compare import RawCell
from milepost.verify.oracle import Mapping, Oracle, Record
from milepost.verify.schema import parse_schema

MAPPING = Mapping(
    record_format="json",
    schema=parse_schema("id STRING, n INT, note STRING"),
    row_key=("id",),
    columns=(("d", "n", "n"), ("d", "note", "note")),
    encoding="string",
)


def record(partition: int, offset: int, value: str | None, key: str = "k0") -> Record:
    return Record(
        "t", partition, offset, 1000 + offset, key.encode(), None if value is None else value.encode()
    )


def put(version: int, value: str, qualifier: str = "n", row: str = "k0") -> RawCell:
    return row.encode(), "d", qualifier.encode(), version, "Put", value.encode()


def marker(version: int, row: str = "k0") -> RawCell:
    return row.encode(), "d", b"", version, "DeleteFamily", b""


class Given:
    """A log of two partitions, of which some records are gone."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = {(each.topic, each.partition, each.offset): each for each in records}

    def ends(self) -> dict[tuple[str, int], int]:
        return {("t", 0): 100, ("t", 1): 100}

    def at(self, spots: Iterable[RecordPosition]) -> dict[RecordPosition, Record]:
        return {spot: self._records[spot] for spot in spots if spot in self._records}


def lineage(records: Sequence[Record], cells: Sequence[RawCell], version: str = "offset") -> Lineage:
    return Lineage(
        version=version,
        is_guarded=False,
        eras={},
        oracle=Oracle(replace(MAPPING, version=version if version == "timestamp" else "offset")),
        log=Given(records),
        coverage=lambda _topic, _partition, offset: Coverage(Certainty.EXACT, offset // 10),
        row_cells=lambda row: [cell for cell in cells if cell[0] == row],
        version_cells=lambda wanted: [cell for cell in cells if cell[3] == wanted],
    )


RECORDS = (
    record(0, 5, '{"id": "k0", "n": 1, "note": "a"}'),
    record(1, 5, '{"id": "other", "n": 9}'),
    record(0, 20, '{"id": "k0", "n": 2}'),
    record(0, 30, None),
)


def test_a_cell_is_of_the_one_record_that_makes_its_row() -> None:
    (cell,) = lineage(RECORDS, [put(5, "1")]).of_row(b"k0")
    (origin,) = cell.origins
    assert (origin.place, origin.time_ms, origin.is_proved) == (Place("t", 0, 5, 0), 1005, True)
    assert (str(origin.coverage), cell.note) == ("checkpoint 0", "")


def test_what_the_log_no_longer_has_is_listed_and_said() -> None:
    (cell,) = lineage((), [put(5, "1")]).of_row(b"k0")
    assert [(o.place.partition, o.is_proved) for o in cell.origins] == [(0, False), (1, False)]
    assert cell.note == "one of these 2; it cannot be determined which: the log no longer has them"


def test_a_candidate_that_was_read_and_makes_another_row_is_out() -> None:
    (cell,) = lineage([RECORDS[1]], [put(5, "1")]).of_row(b"k0")
    assert [o.place.partition for o in cell.origins] == [0]
    assert cell.note == "the only record that matches this version"


def test_a_transform_leaves_every_candidate() -> None:
    blind = replace(lineage(RECORDS, [put(5, "1")]), oracle=None)
    (cell,) = blind.of_row(b"k0")
    assert [o.place.partition for o in cell.origins] == [0, 1]
    assert cell.note.endswith("the rows depend on the transform")


def test_a_version_that_no_record_can_have_is_said_so() -> None:
    (cell,) = lineage(RECORDS, [put(9 << 48, "1")]).of_row(b"k0")
    assert cell.origins == ()
    assert "no record of the log matches this version" in cell.note


@pytest.mark.parametrize(
    ("version", "number", "note"),
    [
        ("checkpoint", 2 << 48 | 17, "written by checkpoint 17, generation 2"),
        (
            "timestamp",
            1_794_736_743_209,
            "of a record of 2026-11-15 09:59:03.209 UTC; a timestamp does not identify the record",
        ),
        ("server-time", 1_794_736_743_209, "time of HBase, which does not identify the record"),
        ("column:ts", 12, "the value of ts was 12, which does not identify the record"),
    ],
)
def test_other_versions_say_what_they_say(version: str, number: int, note: str) -> None:
    (cell,) = lineage(RECORDS, [put(number, "1")], version).of_row(b"k0")
    assert note in cell.note
    assert cell.origins == ()


def test_a_guarded_row_tells_of_its_newest_change() -> None:
    guard = (b"k0", "d", b"_milepost", 1_794_736_743_209, "Put", (5).to_bytes(8, "big"))
    guarded = replace(lineage(RECORDS, [put(1_794_736_743_209, "1"), guard]), is_guarded=True)
    by_name = {cell.qualifier: cell for cell in guarded.of_row(b"k0")}
    assert by_name[b"_milepost"].origins[0].place.offset == 5
    assert "guard cell" in by_name[b"n"].note


def test_states_of_cells() -> None:
    cells = [put(5, "1"), put(20, "2"), put(5, "a", "note"), marker(4)]
    assert [state_of(cell, cells).name for cell in cells] == ["COVERED", "VISIBLE", "VISIBLE", "MARKER"]
    hidden = [*cells, marker(20)]
    assert [state_of(cell, hidden).name for cell in hidden[:3]] == ["DELETED", "DELETED", "DELETED"]


def test_a_record_leads_to_its_row_and_to_what_covers_it() -> None:
    found = lineage(RECORDS, [put(5, "1"), put(20, "2"), put(5, "a", "note")]).of_record(("t", 0, 5))
    (row,) = found.rows
    assert (row.row, row.version, row.is_delete) == (b"k0", 5, False)
    covered, visible = row.columns
    assert (covered.state, visible.state) == (State.COVERED, State.VISIBLE)
    assert covered.by is not None
    assert covered.by.origins[0].place.offset == 20


def test_cells_that_a_delete_took_or_that_were_never_there() -> None:
    deleted = lineage(RECORDS, [marker(30)]).of_record(("t", 0, 5)).rows[0]
    assert [column.state for column in deleted.columns] == [State.DELETED, State.DELETED]
    missing = lineage(RECORDS, []).of_record(("t", 0, 5)).rows[0]
    assert [column.state for column in missing.columns] == [State.MISSING, State.MISSING]


def test_a_delete_has_its_marker_or_had_it() -> None:
    (row,) = lineage(RECORDS, [marker(30)]).of_record(("t", 0, 30)).rows
    assert (row.is_delete, [column.state for column in row.columns]) == (True, [State.MARKER])
    assert lineage(RECORDS, []).of_record(("t", 0, 30)).rows[0].columns == ()


def test_a_bad_record_went_nowhere() -> None:
    found = lineage([record(0, 7, "no json")], []).of_record(("t", 0, 7))
    assert found.rows == ()
    assert "MALFORMED" in found.note


def test_where_rows_cannot_be_told_the_table_is_asked_for_the_version() -> None:
    cells = [put(5, "1"), put(5, "9", row="x")]
    found = replace(lineage(RECORDS, cells), oracle=None).of_record(("t", 0, 5))
    assert [row.row for row in found.rows] == [b"k0", b"x"]
    assert "records at the same offset of other partitions have the same version" in found.note
    gone = lineage((), cells).of_record(("t", 0, 5))
    assert gone.note.startswith("the log no longer has this record")
    stamped = replace(lineage((), cells, "timestamp"), oracle=None).of_record(("t", 0, 5))
    assert (stamped.rows, "are not offsets" in stamped.note) == ((), True)
