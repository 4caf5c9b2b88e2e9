"""A faithful table: the raw cells that a correct writer leaves for a list of records."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable

from milepost.verify.compare import Cell
from milepost.verify.oracle import Mapping, Record
from milepost.verify.schema import parse_schema

MAPPING = Mapping(
    record_format="json",
    schema=parse_schema("id STRING, customer STRING, amount BIGINT, op STRING"),
    row_key=("id",),
    columns=(("d", "customer", "customer"), ("d", "amount", "amount")),
    op="op",
)


def upsert(offset: int, key: str, customer: str | None, amount: int | None, partition: int = 0) -> Record:
    """Return a record that puts two columns."""
    return _record(offset, partition, {"id": key, "customer": customer, "amount": amount, "op": "upsert"})


def delete(offset: int, key: str, partition: int = 0) -> Record:
    """Return a record that deletes a row."""
    return _record(offset, partition, {"id": key, "op": "delete"})


def tombstone(offset: int, key: str, partition: int = 0) -> Record:
    """Return a record without a value."""
    return Record("orders", partition, offset, 0, key.encode(), None)


def _record(offset: int, partition: int, document: dict[str, object]) -> Record:
    return Record("orders", partition, offset, 0, None, json.dumps(document).encode())


def table(records: Iterable[Record]) -> list[Cell]:
    """Return every cell the records write, ordered as HBase orders them; written without the oracle."""
    cells: dict[tuple[bytes, bytes, int, str], Cell] = {}
    for record in records:
        document = None if record.value is None else json.loads(record.value)
        row = record.key if document is None else document["id"].encode()
        assert row is not None
        if document is None or document["op"] == "delete":
            _add(cells, Cell(row, "d", b"", record.offset, "DeleteFamily", b""))
            continue
        if document["customer"] is not None:
            _add(cells, Cell(row, "d", b"customer", record.offset, "Put", document["customer"].encode()))
        if document["amount"] is not None:
            _add(
                cells, Cell(row, "d", b"amount", record.offset, "Put", struct.pack(">q", document["amount"]))
            )
    return in_scan_order(cells.values())


def in_scan_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells by row, column, newest first."""
    return sorted(cells, key=lambda c: (c.row, c.family, c.qualifier, -c.version, c.type))


def _add(cells: dict[tuple[bytes, bytes, int, str], Cell], cell: Cell) -> None:
    cells[cell.row, cell.qualifier, cell.version, cell.type] = cell
