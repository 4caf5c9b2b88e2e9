"""The reference model: computes the expected content of the table from the records of a log.

It shares only the documentation with the sink. Pure: records go in, expectations come out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from milepost.errors import VerificationError
from milepost.verify.changes import Change, change_decoder
from milepost.verify.decode import Columns, Rejected, format_schema, key_value, value_decoder
from milepost.verify.encoding import Encode, row_key_encoder, same_number, value_encoder
from milepost.verify.history import CLEARED, Effect, Entry, RowHistory
from milepost.verify.schema import DataType, Field
from milepost.verify.versions import FIRST, Era, era_index

_UPSERTS = frozenset(["upsert", "c", "r", "u", "INSERT", "UPDATE", "+I", "+U"])
_DELETES = frozenset(["delete", "d", "DELETE", "-D"])
_IGNORED = frozenset(["UPDATE_BEFORE", "-U"])
_LONGEST_ROW_KEY = 32767
_LARGEST_CELL = 10 * 1024 * 1024
# What HBase adds to row, column and value in the size of a cell: lengths, version and type.
_CELL_OVERHEAD = 24
_DAY_MS = 86_400_000
_ORIGIN = {
    "_kafka.topic": DataType("string"),
    "_kafka.partition": DataType("int"),
    "_kafka.offset": DataType("bigint"),
    "_kafka.key": DataType("binary"),
}
_LONG_MAX = (1 << 63) - 1


class Record(NamedTuple):
    """One visible record of the log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None

    @property
    def origin(self) -> tuple[str, int, int, bytes | None]:
        """The position of the record in the log, and its key."""
        return self.topic, self.partition, self.offset, self.key


@dataclass(frozen=True, slots=True)
class Column:
    """A mapped cell: its column in the table, its source column, and the comparison of its values."""

    family: str
    qualifier: bytes
    source: str
    same: Callable[[bytes, bytes], bool] = bytes.__eq__


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """The mapping of records to cells, with the values of the configuration."""

    record_format: str
    schema: tuple[Field, ...]
    row_key: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    """Family, qualifier, source column."""
    encoding: str = "native"
    salt: int = 0
    op: str | None = None
    key_column: str | None = None
    """The column for the Kafka key of a record without a value; absent: the only column of the row key."""
    delete: str = "row"
    nulls: str = "skip"
    version: str = "offset"
    eras: dict[str, tuple[Era, ...]] = field(default_factory=dict)
    """The version eras of each topic; other topics have never grown."""


@dataclass(slots=True)
class Expected:
    """The expected table: the history of every row, and the counts of records."""

    columns: tuple[Column, ...]
    deletes_rows: bool = True
    rows: dict[bytes, RowHistory] = field(default_factory=dict)
    records: int = 0
    applied: int = 0
    ignored: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    horizons: dict[tuple[str, int], int] = field(default_factory=dict)
    """By partition, the version below which cells may come from records that the log no longer has."""
    are_ties_ordered: bool = True
    """Whether the later of two writes with the same version wins; with offsets they come from two partitions."""
    compacted: frozenset[str] = frozenset()
    """Topics with log compaction."""

    def state(self) -> dict[bytes, dict[tuple[str, bytes], tuple[bytes, int]]]:
        """Return row -> {(family, qualifier): (value, version)} for every visible cell."""
        state = {}
        for row, history in self.rows.items():
            final = history.final(len(self.columns))
            cells = {
                (c.family, c.qualifier): cell for c, cell in zip(self.columns, final, strict=True) if cell
            }
            if cells:
                state[row] = cells
        return state

    def writes(self) -> Iterator[tuple[bytes, tuple[str, bytes], int]]:
        """Yield every (row, column, version) that a record may have put."""
        for row, history in self.rows.items():
            for version, entries in history.puts:
                for column, entry in zip(self.columns, entries, strict=True):
                    if isinstance(entry, bytes):
                        yield row, (column.family, column.qualifier), version


class Oracle:
    """Folds records one by one into the expected table."""

    def __init__(self, mapping: Mapping) -> None:
        """Prepare the decoders and encoders; refuses types that cannot be modelled."""
        schema = format_schema(mapping.record_format, mapping.schema)
        types = {f.name: f.type for f in schema} | _ORIGIN
        self._mapping = mapping
        self._decode = value_decoder(mapping.record_format, mapping.schema)
        self._change_log = change_decoder(
            mapping.record_format, mapping.schema, row_key=mapping.row_key, nulls=mapping.nulls
        )
        self._row_key = row_key_encoder(
            [types[name] for name in mapping.row_key], mapping.encoding, mapping.salt
        )
        self._types = types
        self._is_keyed_by_origin = any(name in _ORIGIN for name in mapping.row_key)
        self._key_column = _key_column(mapping, {f.name for f in schema})
        self._cells: list[tuple[str, Encode]] = [
            (source, value_encoder(types[source], mapping.encoding)) for _, _, source in mapping.columns
        ]
        self._version_of = _version(mapping, types)
        columns = tuple(
            Column(family, qualifier.encode(), source, _sameness(types[source], mapping.encoding))
            for family, qualifier, source in mapping.columns
        )
        self._partition_of: dict[tuple[bytes, int], int] = {}
        self.expected = Expected(columns, deletes_rows=mapping.delete == "row")
        self.expected.are_ties_ordered = mapping.version != "offset"

    def effects(self, record: Record) -> list[Effect]:
        """Return the effects of a record by row; raises Rejected for a bad record."""
        found = (self._effect(record, columns, is_delete) for columns, is_delete in self._changes(record))
        return [effect for effect in found if effect is not None]

    def row_of(self, components: Sequence[object]) -> bytes:
        """Return the row key for the values of its columns."""
        return self._row_key(components)

    def outcomes(self, record: Record) -> Iterator[Effect | Rejected | None]:
        """Yield the effect of each change of the record; None without an effect, Rejected for a bad change."""
        try:
            changes = self._changes(record)
        except Rejected as rejected:
            yield rejected
            return
        if not changes:
            yield None
        for columns, is_delete in changes:
            try:
                yield self._effect(record, columns, is_delete)
            except Rejected as rejected:
                yield rejected

    def apply(self, record: Record) -> None:
        """Apply one record; a bad record is counted and changes nothing."""
        expected = self.expected
        expected.records += 1
        for outcome in self.outcomes(record):
            if outcome is None:
                expected.ignored += 1
            elif isinstance(outcome, Rejected):
                expected.rejected[outcome.reason] += 1
            else:
                self._apply_effect(record, outcome)

    def _apply_effect(self, record: Record, effect: Effect) -> None:
        expected = self.expected
        history = expected.rows.get(effect.row)
        if history is None:
            history = expected.rows[effect.row] = RowHistory((record.topic, record.partition), record.key)
        if self._mapping.version == "offset":
            self._require_one_partition(record, effect.row, history)
        history.add(effect, self.first_try(record))
        expected.applied += 1

    def first_try(self, record: Record) -> int | None:
        """Return the other version that the record may have in the table.

        A batch that is read while its topic grows is repeated with versions of the next era. The cells of the first
        attempt have lower versions and hide nothing.
        """
        eras = self._mapping.eras.get(record.topic, FIRST)
        if self._mapping.version != "offset" or len(eras) == 1:
            return None
        index = era_index(eras, record.partition, record.offset)
        if not eras[index].is_timed:
            return None
        return eras[index - 1].version(record.partition, record.offset, record.timestamp_ms)

    def _require_one_partition(self, record: Record, row: bytes, history: RowHistory) -> None:
        """Refuse a row with records from two partitions in an era that orders by offset."""
        eras = self._mapping.eras.get(record.topic, FIRST)
        if len(eras) == 1:
            if history.origin != (record.topic, record.partition):
                raise _two_partitions(row, history, history.origin, record)
            return
        index = era_index(eras, record.partition, record.offset)
        if eras[index].is_timed:
            return
        first = self._partition_of.setdefault((row, index), record.partition)
        if first != record.partition or history.origin[0] != record.topic:
            raise _two_partitions(row, history, (history.origin[0], first), record)

    def _changes(self, record: Record) -> list[Change]:
        """Return the columns of each changed row, and whether the change deletes it."""
        mapping = self._mapping
        if self._change_log is not None:
            return self._change_log(record.key, record.value)
        if record.value is None:
            if self._key_column is None:
                return [({}, True)]
            return [({self._key_column: key_value(record.key, self._types[self._key_column])}, True)]
        columns = self._decode(record.key, record.value)
        operation = columns[mapping.op] if mapping.op else "upsert"
        if operation in _IGNORED:
            return []
        if operation not in _UPSERTS and operation not in _DELETES:
            raise Rejected("UNKNOWN_OP", str(operation))
        return [(columns, operation in _DELETES)]

    def _effect(self, record: Record, columns: Columns, is_delete: bool) -> Effect | None:
        """Return the effect of a change, or None without an effect."""
        row = self._row(record, columns)
        version = self._version_of(record, columns)
        if is_delete:
            return Effect(row, version, None)
        entries = tuple(self._entry(columns[source], encode) for source, encode in self._cells)
        self._check_sizes(row, entries)
        return None if all(entry is None for entry in entries) else Effect(row, version, entries)

    def _row(self, record: Record, columns: Columns) -> bytes:
        if self._is_keyed_by_origin:
            columns = {**columns, **dict(zip(_ORIGIN, record.origin, strict=True))}
        components = [columns.get(name) for name in self._mapping.row_key]
        if None in components:
            raise Rejected("BAD_ROW_KEY", "a component is null")
        row = self._row_key(components)
        shortest = 2 if self._mapping.salt else 1
        if not shortest <= len(row) <= _LONGEST_ROW_KEY:
            raise Rejected("BAD_ROW_KEY", f"{len(row)} bytes")
        return row

    def _entry(self, value: object, encode: Encode) -> Entry:
        if value is None:
            nulls = self._mapping.nulls
            return None if nulls == "skip" else b"" if nulls == "empty" else CLEARED
        return encode(value)

    def _check_sizes(self, row: bytes, entries: tuple[Entry, ...]) -> None:
        for column, entry in zip(self.expected.columns, entries, strict=True):
            if isinstance(entry, bytes) and len(entry) > _LARGEST_CELL // 2:
                size = len(row) + len(column.family) + len(column.qualifier) + len(entry) + _CELL_OVERHEAD
                if size > _LARGEST_CELL:
                    raise Rejected("OVERSIZED", f"{size} bytes")


def _version(mapping: Mapping, types: dict[str, DataType]) -> Callable[[Record, Columns], int]:
    if mapping.version == "offset":
        return lambda record, _columns: _offset_version(mapping.eras.get(record.topic, FIRST), record)
    if mapping.version == "timestamp":
        latest = int(time.time() * 1000) + _DAY_MS
        return lambda record, _columns: _checked(record.timestamp_ms, latest)
    name = mapping.version.removeprefix("column:")
    micros_per_version = 1000 if types[name].name.startswith("timestamp") else 1

    def column_version(_record: Record, columns: Columns) -> int:
        value = columns.get(name)
        return _checked(None if value is None else value // micros_per_version, _LONG_MAX - 1)

    return column_version


def _offset_version(eras: tuple[Era, ...], record: Record) -> int:
    era = eras[era_index(eras, record.partition, record.offset)]
    return era.version(record.partition, record.offset, record.timestamp_ms)


def _key_column(mapping: Mapping, columns: set[str]) -> str | None:
    """Return the column for the key of a tombstone; raw and string records have a key column."""
    if mapping.record_format != "json":
        return "key"
    only = mapping.row_key[0] if len(mapping.row_key) == 1 else None
    chosen = mapping.key_column or only
    return chosen if chosen in columns else None


def _checked(version: int | None, largest: int) -> int:
    if version is None or not 0 <= version <= largest:
        raise Rejected("BAD_VERSION", str(version))
    return version


def _sameness(data_type: DataType, encoding: str) -> Callable[[bytes, bytes], bool]:
    if encoding != "native" and data_type.name in ("float", "double"):
        return same_number
    return bytes.__eq__


def _two_partitions(
    row: bytes, history: RowHistory, first: tuple[str, int], record: Record
) -> VerificationError:
    undefined = "version: offset does not define the order between two partitions"
    cause, fix = _cause(history, first, record)
    return VerificationError(
        f"Row {row!r} was written from {first[0]}-{first[1]} and from {record.topic}-{record.partition}"
        f" (offset {record.offset})",
        why=f"{undefined}, and {cause}",
        fix=f"{fix}, or use version: timestamp or a column",
    )


def _cause(history: RowHistory, first: tuple[str, int], record: Record) -> tuple[str, str]:
    """Return why the records of a row are in two partitions of one era, and the fix."""
    keyed = "Give all records of a row the same Kafka key"
    if first[0] != record.topic:
        return "the records are from two topics", "Add _kafka.topic to the row key"
    if record.key is None or history.key is None:
        return "a record without a Kafka key may go to any partition", keyed
    if record.key != history.key:
        return "the records have different Kafka keys", keyed
    return (
        "the records have the same Kafka key: partitions were added before the first start of the job,"
        " a producer used them only after partition-growth.transition, or a producer chooses partitions itself",
        "Add partitions only after the first start of the job, and use Kafka's default partitioner",
    )


def expect(mapping: Mapping, records: Sequence[Record]) -> Expected:
    """Return the expected table after these records."""
    oracle = Oracle(mapping)
    for record in records:
        oracle.apply(record)
    return oracle.expected
