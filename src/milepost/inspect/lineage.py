"""Lineage: from the cells of a row to the records that wrote them, and from a record to its cells.

What cannot be told is said and never guessed: a version of an offset names no partition, so the record itself is looked
at; a transform may change the key, so then every record that can have the version is listed.
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
from milepost.inspect.records import Spot
from milepost.verify.compare import RawCell
from milepost.verify.decode import Rejected
from milepost.verify.history import Effect
from milepost.verify.oracle import Oracle, Record

_FAMILY_MARKERS = ("DeleteFamily",)
_COLUMN_MARKERS = ("DeleteColumn",)


class State(Enum):
    """What has become of a stored cell."""

    VISIBLE = "a reader sees it"
    COVERED = "a newer value is in front of it"
    DELETED = "a delete hides it"
    MARKER = "a delete"
    MISSING = "not in the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A record that wrote a cell, or can have."""

    place: Place
    time_ms: int | None
    coverage: Coverage
    is_proved: bool
    """Whether the record was read and makes this very row with this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLineage:
    """One stored cell of a row, and where it comes from."""

    family: str
    qualifier: bytes
    version: int
    value: bytes
    state: State
    origins: tuple[Origin, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTrace:
    """What has become of one cell that a record wrote."""

    family: str
    qualifier: bytes
    state: State
    by: CellLineage | None = None
    """What covers or deletes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTrace:
    """What a record did to one row."""

    row: bytes
    version: int
    is_delete: bool
    columns: tuple[ColumnTrace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLineage:
    """A record, the checkpoint that wrote it, and its rows."""

    spot: Spot
    time_ms: int | None
    coverage: Coverage
    rows: tuple[RowTrace, ...]
    note: str = ""


class Log(Protocol):
    """The log that lineage looks into."""

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of every partition."""

    def at(self, spots: Iterable[Spot]) -> dict[Spot, Record]:
        """Return the records at these places that the log still has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Everything that answers where a cell comes from."""

    version: str
    """What versions are made of: offset, checkpoint, timestamp, server-time, or `column:` and its name."""
    is_guarded: bool
    eras: Eras
    oracle: Oracle | None
    """None where the rows of a record cannot be told, because of a transform for example."""
    log: Log
    coverage: Callable[[str, int, int], Coverage]
    row_cells: Callable[[bytes], Sequence[RawCell]]
    version_cells: Callable[[int], Sequence[RawCell]]

    def of_row(self, row: bytes) -> list[CellLineage]:
        """Return every stored cell and delete of a row with the records that wrote it, newest first."""
        cells = sorted(self.row_cells(row), key=lambda cell: (cell[1], cell[2], -cell[3]))
        wanted = {version for cell in cells if (version := self._offset_version(cell)) is not None}
        origins = self._origins(row, wanted)
        return [self._lineage(cell, cells, origins) for cell in cells]

    def of_record(self, spot: Spot) -> RecordLineage:
        """Return which rows a record went to, and what has become of its cells."""
        record = self.log.at([spot]).get(spot)
        covered = self.coverage(*spot)
        time_ms = None if record is None else record.timestamp_ms
        if record is not None and self.oracle is not None:
            try:
                effects = self.oracle.effects(record)
            except Rejected as rejected:
                note = f"a bad record ({rejected}): it went to no row"
                return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=(), note=note)
            note = "" if effects else "it changes no row"
            rows = tuple(self._trace(effect) for effect in effects)
            return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=rows, note=note)
        rows, note = self._by_version(spot, record)
        return RecordLineage(spot=spot, time_ms=time_ms, coverage=covered, rows=rows, note=note)

    def _offset_version(self, cell: RawCell) -> int | None:
        """Return the version of an offset that a cell tells of."""
        if self.version != "offset":
            return None
        if not self.is_guarded:
            return cell[3]
        # Under guard: cas the cells have HBase's own time, and the guard cell's value is the version.
        is_guard = cell[2] == GUARD_QUALIFIER.encode() and cell[4] == "Put"
        return int.from_bytes(cell[5], "big") if is_guard else None

    def _origins(self, row: bytes, versions: Iterable[int]) -> dict[int, tuple[Origin, ...]]:
        possible = {version: places(version, self.eras, self.log.ends()) for version in versions}
        records = self.log.at(place[:3] for found in possible.values() for place in found)
        return {version: self._narrowed(row, version, found, records) for version, found in possible.items()}

    def _narrowed(
        self, row: bytes, version: int, possible: Sequence[Place], records: Mapping[Spot, Record]
    ) -> tuple[Origin, ...]:
        """Return the places that can have written the row; those whose record was read and did not, are out."""
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
            return "HBase's own time; the guard cell tells of the row's newest change"
        number = cell[3]
        if self.version == "checkpoint":
            return f"written by checkpoint {checkpoint_of(number)}, generation {generation_of(number)}"
        if self.version == "timestamp":
            return f"of a record of {_moment(number)}; its time does not say which record it was"
        if self.version == "server-time":
            return f"written at {_moment(number)}, HBase's own time; it does not say which record it was"
        return f"the value of {self.version.removeprefix('column:')} was {number}; it does not say which record it was"

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

    def _by_version(self, spot: Spot, record: Record | None) -> tuple[tuple[RowTrace, ...], str]:
        """Return the rows that have the version of a record, where its rows cannot be told from itself."""
        reason = "the log no longer has this record" if record is None else "its rows depend on the transform"
        if self.version != "offset" or self.is_guarded:
            return (), f"{reason}, and the versions of the table name no offsets"
        version = version_of(self.eras, spot, None if record is None else record.timestamp_ms)
        rows: dict[bytes, list[RawCell]] = {}
        for cell in self.version_cells(version):
            rows.setdefault(cell[0], []).append(cell)
        traces = tuple(_found(row, version, cells) for row, cells in sorted(rows.items()))
        others = "records at the same offset of other partitions have the same version"
        return traces, f"{reason}: these are the stored cells of its version; {others}"


def state_of(cell: RawCell, cells: Sequence[RawCell]) -> State:
    """Return what has become of a cell among all that are stored of its row."""
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


def _found(row: bytes, version: int, cells: Sequence[RawCell]) -> RowTrace:
    columns = tuple(
        ColumnTrace(family=cell[1], qualifier=cell[2], state=state_of(cell, cells)) for cell in cells
    )
    return RowTrace(
        row=row, version=version, is_delete=all(cell[4] != "Put" for cell in cells), columns=columns
    )


def _offset_note(origins: Sequence[Origin], *, has_oracle: bool) -> str:
    if not origins:
        return (
            "no record of the log can have this version: not written by this job, or from a log that is gone"
        )
    if len(origins) > 1:
        why = "the log no longer has them" if has_oracle else "a transform stands between"
        return f"one of these {len(origins)}; which one cannot be told: {why}"
    return "" if origins[0].is_proved else "the only record that can have this version"


def _moment(milliseconds: int) -> str:
    try:
        return (
            f"{datetime.fromtimestamp(milliseconds / 1000, timezone.utc):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
        )
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"
