"""Lineage: from the cells of a row to the records that wrote them, and from a record to its cells.

Nothing is guessed. An offset version does not contain the partition, so the record itself is read. A transform may
change the key, so all records with a matching version are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Protocol

from milepost.config.hbase_sink import GUARD_QUALIFIER
from milepost.inspect.coverage import Coverage
from milepost.inspect.origin import Eras, Place, checkpoint_of, generation_of, places, version_of
from milepost.inspect.records import RecordPosition
from milepost.verify.compare import RawCell
from milepost.verify.decode import Rejected
from milepost.verify.history import Effect
from milepost.verify.oracle import Oracle, Record

_FAMILY_MARKERS = ("DeleteFamily",)
_COLUMN_MARKERS = ("DeleteColumn",)


class State(Enum):
    """The state of a stored cell."""

    VISIBLE = "visible to readers"
    COVERED = "hidden by a newer value"
    DELETED = "hidden by a delete"
    MARKER = "a delete marker"
    MISSING = "not in the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A record that wrote a cell, or may have written it."""

    place: Place
    time_ms: int | None
    coverage: Coverage
    is_proved: bool
    """Whether the record was read and produces this row and version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLineage:
    """A stored cell of a row, and its origin."""

    family: str
    qualifier: bytes
    version: int
    value: bytes
    state: State
    origins: tuple[Origin, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTrace:
    """The state of a cell that a record wrote."""

    family: str
    qualifier: bytes
    state: State
    by: CellLineage | None = None
    """The cell or marker that hides it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTrace:
    """The effect of a record on one row."""

    row: bytes
    version: int
    is_delete: bool
    columns: tuple[ColumnTrace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLineage:
    """A record, the checkpoint that wrote it, and the rows it changed."""

    spot: RecordPosition
    time_ms: int | None
    coverage: Coverage
    rows: tuple[RowTrace, ...]
    note: str = ""


class Log(Protocol):
    """The log that lineage reads."""

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of every partition."""

    def at(self, spots: Iterable[RecordPosition]) -> dict[RecordPosition, Record]:
        """Return the records at these positions that the log still has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Finds the origin of cells and the cells of records."""

    version: str
    """The kind of versions: offset, checkpoint, timestamp, server-time, or `column:` and its name."""
    is_guarded: bool
    eras: Eras
    oracle: Oracle | None
    """None if the rows of a record cannot be determined, for example because of a transform."""
    log: Log
    coverage: Callable[[str, int, int], Coverage]
    row_cells: Callable[[bytes], Sequence[RawCell]]
    version_cells: Callable[[int], Sequence[RawCell]]

    def of_row(self, row: bytes) -> list[CellLineage]:
        """Return every stored cell and delete marker of a row with the records that wrote it, newest first."""
        cells = sorted(self.row_cells(row), key=lambda cell: (cell[1], cell[2], -cell[3]))
        wanted = {version for cell in cells if (version := self._offset_version(cell)) is not None}
        origins = self._origins(row, wanted)
        return [self._lineage(cell, cells, origins) for cell in cells]

    def of_record(self, spot: RecordPosition) -> RecordLineage:
        """Return the rows that a record changed, and the state of its cells."""
        record = self.log.at([spot]).get(spot)
        covered = self.coverage(*spot)
        time_ms = None if record is None else record.timestamp_ms
        if record is not None and self.oracle is not None:
            try:
                effects = self.oracle.effects(record)
            except Rejected as rejected:
                note = f"a bad record ({rejected}): it changed no row"
                return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=(), note=note)
            note = "" if effects else "it changes no row"
            rows = tuple(self._trace(effect) for effect in effects)
            return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=rows, note=note)
        rows, note = self._by_version(spot, record)
        return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=rows, note=note)

    def _offset_version(self, cell: RawCell) -> int | None:
        """Return the offset version of a cell, if it has one."""
        if self.version != "offset":
            return None
        if not self.is_guarded:
            return cell[3]
        # With guard: cas the cells carry HBase's time, and the guard cell contains the version.
        is_guard = cell[2] == GUARD_QUALIFIER.encode() and cell[4] == "Put"
        return int.from_bytes(cell[5], "big") if is_guard else None

    def _origins(self, row: bytes, versions: Iterable[int]) -> dict[int, tuple[Origin, ...]]:
        possible = {version: places(version, self.eras, self.log.ends()) for version in versions}
        records = self.log.at(place[:3] for found in possible.values() for place in found)
        return {version: self._narrow(row, version, found, records) for version, found in possible.items()}

    def _narrow(
        self, row: bytes, version: int, possible: Sequence[Place], records: Mapping[RecordPosition, Record]
    ) -> tuple[Origin, ...]:
        """Return the records that may have written the row, without those that were read and did not."""
        origins = []
        for place in possible:
            record = records.get(place[:3])
            made = self._makes(record, row) if record is not None and self.oracle is not None else None
            if made is False:
                continue
            origins.append(
                Origin(
                    place=place,
                    time_ms=None if record is None else record.timestamp_ms,
                    coverage=self.coverage(*place[:3]),
                    is_proved=made is True,
                )
            )
        proved = tuple(origin for origin in origins if origin.is_proved)
        return proved or tuple(origins)

    def _makes(self, record: Record, row: bytes) -> bool:
        if self.oracle is None:
            return False
        try:
            return any(effect.row == row for effect in self.oracle.effects(record))
        except Rejected:
            return False

    def _lineage(
        self, cell: RawCell, cells: Sequence[RawCell], origins: Mapping[int, tuple[Origin, ...]]
    ) -> CellLineage:
        version = self._offset_version(cell)
        found = () if version is None else origins[version]
        return CellLineage(
            family=cell[1],
            qualifier=cell[2],
            version=cell[3],
            value=cell[5],
            state=state_of(cell, cells),
            origins=found,
            note=self._note(cell, version, found),
        )

    def _note(self, cell: RawCell, version: int | None, origins: Sequence[Origin]) -> str:
        if version is not None:
            return _offset_note(origins, has_oracle=self.oracle is not None)
        if self.is_guarded:
            return "time of HBase; the guard cell has the version of the newest change"
        number = cell[3]
        if self.version == "checkpoint":
            return f"written by checkpoint {checkpoint_of(number)}, generation {generation_of(number)}"
        if self.version == "timestamp":
            return f"of a record of {_moment(number)}; a timestamp does not identify the record"
        if self.version == "server-time":
            return f"written at {_moment(number)}, time of HBase, which does not identify the record"
        return f"the value of {self.version.removeprefix('column:')} was {number}, which does not identify the record"

    def _trace(self, effect: Effect) -> RowTrace:
        stored = self.of_row(effect.row)
        if effect.entries is None or self.oracle is None:
            marks = [each for each in stored if each.state is State.MARKER and each.version == effect.version]
            columns = [
                ColumnTrace(family=each.family, qualifier=each.qualifier, state=State.MARKER)
                for each in marks
            ]
        else:
            written = zip(self.oracle.expected.columns, effect.entries, strict=True)
            columns = [
                _column_trace(column.family, column.qualifier, effect.version, stored)
                for column, entry in written
                if isinstance(entry, bytes)
            ]
        return RowTrace(
            row=effect.row,
            version=effect.version,
            is_delete=effect.entries is None,
            columns=tuple(columns),
        )

    def _by_version(self, spot: RecordPosition, record: Record | None) -> tuple[tuple[RowTrace, ...], str]:
        """Return the rows with the version of a record whose rows cannot be computed."""
        reason = "the log no longer has this record" if record is None else "its rows depend on the transform"
        if self.version != "offset" or self.is_guarded:
            return (), f"{reason}, and the versions of the table are not offsets"
        version = version_of(self.eras, spot, None if record is None else record.timestamp_ms)
        rows: dict[bytes, list[RawCell]] = {}
        for cell in self.version_cells(version):
            rows.setdefault(cell[0], []).append(cell)
        traces = tuple(_trace_cells(row, version, cells) for row, cells in sorted(rows.items()))
        others = "records at the same offset of other partitions have the same version"
        return traces, f"{reason}: these are the stored cells of its version; {others}"


def state_of(cell: RawCell, cells: Sequence[RawCell]) -> State:
    """Return the state of a cell among all stored cells of its row."""
    if cell[4] != "Put":
        return State.MARKER
    if _hidden_by(cell, cells) is not None:
        return State.DELETED
    newer = (
        other
        for other in cells
        if other[1:3] == cell[1:3]
        and other[4] == "Put"
        and other[3] > cell[3]
        and _hidden_by(other, cells) is None
    )
    return State.VISIBLE if next(newer, None) is None else State.COVERED


def _hidden_by(cell: RawCell, cells: Sequence[RawCell]) -> RawCell | None:
    for other in cells:
        reaches = other[4] in _FAMILY_MARKERS or (other[4] in _COLUMN_MARKERS and other[2] == cell[2])
        if other[1] == cell[1] and reaches and other[3] >= cell[3]:
            return other
    return None


def _column_trace(family: str, qualifier: bytes, version: int, stored: Sequence[CellLineage]) -> ColumnTrace:
    of_column = [
        each
        for each in stored
        if each.family == family and (each.qualifier == qualifier or each.state is State.MARKER)
    ]
    own = next((e for e in of_column if e.version == version and e.state is not State.MARKER), None)
    newer = [
        each for each in of_column if each.version > version or (own is None and each.version >= version)
    ]
    by = max(newer, key=lambda each: each.version, default=None)
    if own is not None:
        return ColumnTrace(family=family, qualifier=qualifier, state=own.state, by=by)
    state = State.MISSING if by is None else State.DELETED if by.state is State.MARKER else State.COVERED
    return ColumnTrace(family=family, qualifier=qualifier, state=state, by=by)


def _trace_cells(row: bytes, version: int, cells: Sequence[RawCell]) -> RowTrace:
    columns = tuple(
        ColumnTrace(family=cell[1], qualifier=cell[2], state=state_of(cell, cells)) for cell in cells
    )
    return RowTrace(
        row=row, version=version, is_delete=all(cell[4] != "Put" for cell in cells), columns=columns
    )


def _offset_note(origins: Sequence[Origin], *, has_oracle: bool) -> str:
    if not origins:
        return "no record of the log matches this version: written by another client, or from records that were deleted"
    if len(origins) > 1:
        why = "the log no longer has them" if has_oracle else "the rows depend on the transform"
        return f"one of these {len(origins)}; it cannot be determined which: {why}"
    return "" if origins[0].is_proved else "the only record that matches this version"


def _moment(milliseconds: int) -> str:
    try:
        return (
            f"{datetime.fromtimestamp(milliseconds / 1000, timezone.utc):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
        )
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"
