"""Compares the cells of a table with the log. Pure.

Every row is checked twice. State: does each column show the value of the newest record? (MISSING, STALE,
RESURRECTED, EXTRA; at most one finding per row and column.) History: does a record explain every stored cell and
every delete marker, visible or hidden? (WRONG_VALUE, ALIEN_VERSION; at most one finding per cell.) A missing hidden
version is not a finding: the sink folds versions and HBase removes old ones.

A running job writes ahead of the boundary. So a row that differs is only a suspect until the records after the
boundary are known, any part of which may have been written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from milepost.verify.history import CLEARED, Entry, RowHistory
from milepost.verify.oracle import Expected
from milepost.verify.report import Finding, Kind, Report

Position = tuple[str, bytes]
Stored = tuple[bytes, int]

_PUT, _DELETE_COLUMN = "Put", "DeleteColumn"
_DELETE_FAMILY, _DELETE_FAMILY_VERSION = "DeleteFamily", "DeleteFamilyVersion"
_LONGEST_SHOWN = 40
_NOTHING = RowHistory(("", -1))
"""The history of a row without records."""


class Cell(NamedTuple):
    """A stored cell or delete marker from a raw scan."""

    row: bytes
    family: str
    qualifier: bytes
    version: int
    type: str
    value: bytes


# There are millions of cells: the scan may return plain tuples with the fields of Cell.
RawCell = Cell | tuple[bytes, str, bytes, int, str, bytes]


def compare(expected: Expected, cells: Iterable[RawCell]) -> Report:
    """Return every difference; the cells of a row must be adjacent, as in a scan."""
    comparison = Comparison(expected)
    comparison.scan(cells)
    return comparison.conclude({})


def visible(cells: Sequence[RawCell]) -> dict[Position, Stored]:
    """Return the visible cells of a row, by the rules of HBase.

    A family or column marker hides every put up to its version, a version marker only the put of that version;
    a put with the version of a delete is hidden, whichever was written first.
    """
    markers = [cell for cell in cells if cell[4] != _PUT]
    hides = _hiding(markers) if markers else None
    seen: dict[Position, Stored] = {}
    for _, family, qualifier, version, kind, value in cells:
        position = (family, qualifier)
        newest = seen.get(position)
        # Of two puts with the same version a scan returns the later write first.
        is_newer = kind == _PUT and (newest is None or version > newest[1])
        if is_newer and not (hides and hides(position, version)):
            seen[position] = (value, version)
    return seen


def _hiding(markers: Sequence[RawCell]) -> Callable[[Position, int], bool]:
    """Return a function that determines whether the markers hide a put."""
    families: dict[str, int] = {}
    columns: dict[Position, int] = {}
    exact: set[tuple[str, bytes | None, int]] = set()
    for _, family, qualifier, version, kind, _ in markers:
        if kind == _DELETE_FAMILY:
            families[family] = max(version, families.get(family, -1))
        elif kind == _DELETE_COLUMN:
            columns[family, qualifier] = max(version, columns.get((family, qualifier), -1))
        else:
            exact.add((family, None if kind == _DELETE_FAMILY_VERSION else qualifier, version))

    def hides(position: Position, version: int) -> bool:
        family, qualifier = position
        return (
            version <= families.get(family, -1)
            or version <= columns.get(position, -1)
            or (family, qualifier, version) in exact
            or (family, None, version) in exact
        )

    return hides


@dataclass(slots=True)
class _Verdict:
    """The findings of a row."""

    findings: list[Finding] = field(default_factory=list)
    beyond: int = 0


class Comparison:
    """Compares the table in one pass, and the rows that differ in a second one."""

    def __init__(self, expected: Expected) -> None:
        """Compare with the log up to the boundary."""
        self.expected = expected
        self.report = Report(records=expected.records)
        self.suspects: dict[bytes, list[RawCell]] = {}
        """The rows that differ from the log up to the boundary, with their cells."""

    def scan(self, cells: Iterable[RawCell]) -> None:
        """Scan the cells of the table, and collect the rows that differ."""
        met: set[bytes] = set()
        judge = _Judge(self.expected, {})
        for row, group in groupby(cells, key=itemgetter(0)):
            if row in met:
                raise ValueError(f"the cells of row {row!r} are not adjacent")
            met.add(row)
            self._take(judge, row, list(group))
        for row in self.expected.rows:
            if row not in met and judge.verdict(row, []).findings:
                self.suspects[row] = []

    def _take(self, judge: _Judge, row: bytes, cells: list[RawCell]) -> None:
        mine = [cell for cell in cells if cell[1] in judge.families]
        self.report.rows += 1
        self.report.cells += len(mine)
        # The mapping does not cover other families: another writer owns them.
        self.report.foreign += len(cells) - len(mine)
        verdict = judge.verdict(row, mine)
        if verdict.findings:
            self.suspects[row] = mine
        else:
            self.report.beyond += verdict.beyond

    def conclude(self, ahead: Mapping[bytes, RowHistory]) -> Report:
        """Report the rows that still differ if any of the records after the boundary may have been written."""
        judge = _Judge(self.expected, ahead)
        for row, cells in self.suspects.items():
            verdict = judge.verdict(row, cells)
            self.report.beyond += verdict.beyond
            self.report.ahead += not verdict.findings
            for finding in verdict.findings:
                self.report.add(finding)
        return self.report


class _Judge:
    """Compares the cells of a row with its history, and with the records after the boundary."""

    def __init__(self, expected: Expected, ahead: Mapping[bytes, RowHistory]) -> None:
        self.expected = expected
        self.ahead = ahead
        self.columns = expected.columns
        self.index = {(c.family, c.qualifier): i for i, c in enumerate(expected.columns)}
        self.families = {c.family for c in expected.columns}
        self.anywhere = max(expected.horizons.values(), default=0)
        self.found = _Verdict()

    def verdict(self, row: bytes, cells: list[RawCell]) -> _Verdict:
        self.found = _Verdict()
        history = self.expected.rows.get(row, _NOTHING)
        extra = self.compare_state(row, history, visible(cells))
        self.compare_history(row, history, [c for c in cells if (c[1], c[2]) not in extra])
        return self.found

    def compare_state(self, row: bytes, history: RowHistory, seen: dict[Position, Stored]) -> set[Position]:
        """Report columns whose visible value is not that of the newest record; return the extra columns."""
        extra = set()
        for i, (column, want) in enumerate(zip(self.columns, history.final(len(self.columns)), strict=True)):
            position = (column.family, column.qualifier)
            have = seen.pop(position, None)
            if self.is_ahead(row, history, i, have):
                continue
            if want is None:
                if have is not None and self.report_unwanted(row, history, i, have) is Kind.EXTRA:
                    extra.add(position)
            elif have is None:
                self.add(Kind.MISSING, row, position, _shown(*want), "nothing")
            elif have[1] < want[1]:
                self.add(Kind.STALE, row, position, _shown(*want), _shown(*have))
            # Higher versions and wrong values are reported by the history check.
        for position, have in seen.items():
            self.add(Kind.EXTRA, row, position, "no such column", _shown(*have))
            extra.add(position)
        return extra

    def is_ahead(self, row: bytes, history: RowHistory, column: int, have: Stored | None) -> bool:
        """Return whether records after the boundary explain the visible value of a column."""
        ahead = self.ahead.get(row)
        if ahead is None:
            return False
        want = history.final(len(self.columns))[column]
        newest = -1 if want is None else want[1]
        if have is None:
            # Because of a record after the boundary, log compaction may have removed a delete before it.
            return (
                ahead.origin[0] in self.expected.compacted
                or ahead.floors(len(self.columns))[column] >= newest
            )
        if have[1] < newest or have[1] <= history.floors(len(self.columns))[column]:
            return False
        first_tries = [each for version, each in ahead.first_tries if version == have[1] and each is not None]
        entries = [*_entries(ahead, column, have[1]), *(each[column] for each in first_tries)]
        return any(isinstance(entry, bytes) for entry in entries)

    def report_unwanted(self, row: bytes, history: RowHistory, column: int, have: Stored) -> Kind | None:
        """Report a value that should not exist; return its kind."""
        position = (self.columns[column].family, self.columns[column].qualifier)
        deleted = max(history.deletes, default=-1)
        if have[1] > deleted and self.is_beyond(history, have[1]):
            return None
        was_written = any(entries[column] is not None for _, entries in history.puts)
        kind = Kind.RESURRECTED if history.deletes or was_written else Kind.EXTRA
        self.add(kind, row, position, "deleted" if kind is Kind.RESURRECTED else "nothing", _shown(*have))
        return kind

    def compare_history(self, row: bytes, history: RowHistory, cells: Iterable[RawCell]) -> None:
        """Report cells that no record explains, and cells with a wrong value."""
        puts = _by_version(history)
        ahead = self.ahead.get(row, _NOTHING)
        previous: tuple[object, ...] = ()
        for cell in cells:
            _, family, qualifier, version, kind, value = cell
            # An overwritten version may be returned twice, the later write first.
            if cell[1:5] == previous:
                continue
            previous = cell[1:5]
            column = self.index.get((family, qualifier))
            if self.is_first_try(history, cell, column) or self.is_first_try(ahead, cell, column):
                continue
            written = puts.get(version)
            entry = written[column] if written is not None and column is not None else None
            later = [] if column is None else _entries(ahead, column, version)
            if column is not None and not self.expected.are_ties_ordered:
                later += _entries(history, column, version)
            if kind == _PUT and column is not None and any(isinstance(e, bytes) for e in (entry, *later)):
                self.compare_value(cell, column, [entry, *later])
            elif self.explains_marker(history, cell, [entry]) or self.explains_marker(ahead, cell, later):
                continue
            elif self.is_beyond(history, version):
                self.found.beyond += 1
            else:
                self.add(
                    Kind.ALIEN_VERSION,
                    row,
                    (family, qualifier),
                    "no such version",
                    _shown(value, version, kind),
                )

    def compare_value(self, cell: RawCell, column: int, entries: Sequence[Entry]) -> None:
        """Report a value that differs from all records with this version."""
        row, family, qualifier, version, _, value = cell
        values = [entry for entry in entries if isinstance(entry, bytes)]
        if not any(value == entry or self.columns[column].same(value, entry) for entry in values):
            self.add(
                Kind.WRONG_VALUE,
                row,
                (family, qualifier),
                _shown(values[0], version),
                _shown(value, version),
            )

    def is_first_try(self, history: RowHistory, cell: RawCell, column: int | None) -> bool:
        """Return whether the cell is from the first attempt of a batch that was repeated with other versions."""
        for version, entries in history.first_tries:
            if version != cell[3]:
                continue
            if entries is None:
                if cell[4] == (_DELETE_FAMILY if self.expected.deletes_rows else _DELETE_COLUMN):
                    return True
            elif column is not None and entries[column] == (
                CLEARED if cell[4] == _DELETE_COLUMN else cell[5]
            ):
                return True
        return False

    def explains_marker(self, history: RowHistory, cell: RawCell, entries: Sequence[Entry]) -> bool:
        """Return whether a record explains this delete marker; False for a put."""
        kind, version = cell[4], cell[3]
        if kind == _DELETE_FAMILY:
            return self.expected.deletes_rows and version in history.deletes
        if kind == _DELETE_COLUMN:
            return CLEARED in entries or (not self.expected.deletes_rows and version in history.deletes)
        return False

    def is_beyond(self, history: RowHistory, version: int) -> bool:
        """Return whether a record that the log no longer has may have written this version."""
        return version < self.expected.horizons.get(history.origin, self.anywhere)

    def add(self, kind: Kind, row: bytes, position: Position, expected: str, actual: str) -> None:
        self.found.findings.append(Finding(kind, row, position[0], position[1], expected, actual))


def _entries(history: RowHistory, column: int, version: int) -> list[Entry]:
    """Return the entries of the records with this version in a column."""
    return [entries[column] for each, entries in history.puts if each == version]


def _by_version(history: RowHistory) -> dict[int, tuple[Entry, ...]]:
    puts: dict[int, tuple[Entry, ...]] = {}
    for version, entries in history.puts:
        before = puts.get(version)
        if before is not None:
            entries = tuple(b if e is None else e for b, e in zip(before, entries, strict=True))
        puts[version] = entries
    return puts


def _shown(value: bytes, version: int, kind: str = _PUT) -> str:
    text = repr(value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN])[1:]
    shown = text if len(value) <= _LONGEST_SHOWN else f"{text}… ({len(value)} bytes)"
    return f"{shown} @ {version}" if kind == _PUT else f"{kind} @ {version}"
