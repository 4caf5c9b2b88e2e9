"""Debezium's and Canal's envelopes, as the checker reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.verify.faithful import MAPPING

from milepost.verify.changes import Change, Decode, change_decoder
from milepost.verify.decode import Rejected
from milepost.verify.oracle import Record, expect
from milepost.verify.schema import parse_schema

SCHEMA = parse_schema("id INT NOT NULL, name STRING NOT NULL, weight DOUBLE")
OLD = {"id": 1, "name": "a", "weight": 1.5}
NEW = {"id": 1, "name": "b", "weight": "2.5"}
MOVED = {"id": 2, "name": "b", "weight": None}
GONE = {"id": 1, "name": None, "weight": None}


def decoder(record_format: str, ddl: str | None = None, nulls: str = "skip", key: str = "id") -> Decode:
    schema = parse_schema(ddl) if ddl else SCHEMA
    found = change_decoder(record_format, schema, row_key=(key,), nulls=nulls)
    assert found is not None
    return found


DEBEZIUM, CANAL = decoder("debezium-json"), decoder("canal-json")


def changes(decode: Decode, document: Any, key: Any = None) -> list[Change]:
    return decode(None if key is None else json.dumps(key).encode(), json.dumps(document).encode())


def envelope(op: Any, before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"op": 7}, "op": op, "ts_ms": 1}


def message(kind: str, data: Any, old: Any = None) -> dict[str, Any]:
    return {"data": data, "isDdl": False, "old": old, "pkNames": ["id"], "type": kind}


def reason(decode: Decode, document: Any, key: Any = None) -> str:
    with pytest.raises(Rejected) as caught:
        changes(decode, document, key)
    return caught.value.reason


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: {"schema": {"fields": []}, "payload": e}])
def test_debezium_takes_the_image_that_the_operation_names(wrap: Any) -> None:
    new = {**NEW, "weight": 2.5}
    assert changes(DEBEZIUM, wrap(envelope("c", None, OLD))) == [(OLD, False)]
    assert changes(DEBEZIUM, wrap(envelope("r", None, OLD))) == [(OLD, False)]
    assert changes(DEBEZIUM, wrap(envelope("u", OLD, NEW))) == [(new, False)]
    assert changes(DEBEZIUM, wrap(envelope("u", OLD, MOVED))) == [(OLD, True), (MOVED, False)]
    assert changes(DEBEZIUM, wrap(envelope("d", OLD, None))) == [(OLD, True)]


@pytest.mark.parametrize("key", [{"id": 1}, {"schema": {}, "payload": {"id": 1}}])
def test_debeziums_deletes_may_be_named_by_the_key(key: Any) -> None:
    assert changes(DEBEZIUM, envelope("d", None, None), key) == [(GONE, True)]
    assert DEBEZIUM(json.dumps(key).encode(), None) == [(GONE, True)]


@pytest.mark.parametrize("key", [None, b"1", b"x", b'{"name":"a"}', b'{"id":"x"}'])
def test_a_key_that_names_no_row(key: bytes | None) -> None:
    assert DEBEZIUM(key, None) == []
    with pytest.raises(Rejected, match="WRONG_SCHEMA"):
        DEBEZIUM(key, json.dumps(envelope("d", None, None)).encode())


@pytest.mark.parametrize("document", [{"ts_ms": 1}, {"ddl": "CREATE"}, {"status": "END"}, {"op": "m"}])
def test_debeziums_records_that_change_nothing(document: Any) -> None:
    assert changes(DEBEZIUM, document) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (envelope("t", None, None), "UNKNOWN_OP"),
        (envelope(None, None, OLD), "UNKNOWN_OP"),
        (envelope("c", OLD, None), "WRONG_SCHEMA"),
        (envelope("c", None, {"id": 1}), "WRONG_SCHEMA"),
        (envelope("c", None, [1]), "WRONG_SCHEMA"),
        ({"id": 1, "name": "a"}, "WRONG_SCHEMA"),
        ({"payload": None}, "NULL_DOCUMENT"),
        ({"payload": 7}, "WRONG_SCHEMA"),
    ],
)
def test_envelopes_that_cannot_be_read(document: Any, expected: str) -> None:
    assert reason(DEBEZIUM, document) == expected


def test_a_value_that_postgres_left_out_is_null_where_nulls_are_skipped() -> None:
    document = envelope("u", None, {"id": 1, "name": "__debezium_unavailable_value"})
    assert changes(DEBEZIUM, document) == [(GONE, False)]
    assert reason(decoder("debezium-json", nulls="delete"), document) == "WRONG_SCHEMA"


def test_canal_has_one_change_for_each_row() -> None:
    rows = [{"id": "1", "name": "a", "weight": "1.5"}, {"id": "2", "name": "b", "weight": None}]
    assert changes(CANAL, message("INSERT", rows)) == [(OLD, False), (MOVED, False)]
    assert changes(CANAL, message("UPDATE", rows, [{"name": "x"}, {}])) == [(OLD, False), (MOVED, False)]
    assert changes(CANAL, message("DELETE", rows)) == [(OLD, True), (MOVED, True)]


def test_canal_deletes_an_old_key_that_no_row_of_the_message_has() -> None:
    rows = [{"id": "2", "name": "a"}, {"id": "3", "name": "b"}]
    found = changes(CANAL, message("UPDATE", rows, [{"id": "1"}, {"id": "2"}]))
    assert [(row["id"], gone) for row, gone in found] == [(1, True), (2, False), (3, False)]


@pytest.mark.parametrize("kind", ["CREATE", "ALTER", "QUERY", "TIDB_WATERMARK"])
def test_canals_messages_that_change_nothing(kind: str) -> None:
    assert changes(CANAL, message(kind, None)) == []
    assert CANAL(b"1", None) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (message("TRUNCATE", None), "UNKNOWN_OP"),
        (message("insert", []), "UNKNOWN_OP"),
        (message("INSERT", None), "WRONG_SCHEMA"),
        (message("INSERT", [None]), "WRONG_SCHEMA"),
        (message("INSERT", {"id": "1"}), "WRONG_SCHEMA"),
        (message("INSERT", [{"id": "1.0", "name": "a"}]), "WRONG_SCHEMA"),
        ({"data": []}, "WRONG_SCHEMA"),
    ],
)
def test_messages_that_cannot_be_read(document: Any, expected: str) -> None:
    assert reason(CANAL, document) == expected


@pytest.mark.parametrize(
    ("ddl", "text", "value"),
    [("BOOLEAN", "1", True), ("BOOLEAN", 0, False), ("SMALLINT", "007", 7), ("BINARY", "\0ÿ", b"\0\xff")],
)
def test_text_becomes_the_columns_type(ddl: str, text: Any, value: object) -> None:
    decode = decoder("canal-json", f"v {ddl}", key="v")
    assert changes(decode, message("INSERT", [{"v": text}])) == [({"v": value}, False)]


@pytest.mark.parametrize(
    ("ddl", "text"), [("INT", "+1"), ("BOOLEAN", "yes"), ("DOUBLE", "NaN"), ("BINARY", "Ā")]
)
def test_text_of_another_type_is_rejected(ddl: str, text: str) -> None:
    assert (
        reason(decoder("canal-json", f"v {ddl}", key="v"), message("INSERT", [{"v": text}])) == "WRONG_SCHEMA"
    )


def test_other_formats_are_no_change_logs() -> None:
    assert change_decoder("json", SCHEMA, row_key=("id",), nulls="skip") is None


def test_a_message_of_several_rows_has_one_version() -> None:
    mapping = replace(MAPPING, record_format="canal-json", op=None)
    rows = [{"id": "a", "amount": "1"}, {"id": "b", "amount": "1"}]
    log = [
        Record("orders", 0, offset, 0, None, json.dumps(document).encode())
        for offset, document in enumerate(
            [message("INSERT", rows), message("DELETE", rows[:1]), message("ALTER", None)]
        )
    ]
    expected = expect(mapping, log)
    assert expected.state() == {b"b": {("d", b"amount"): (b"\0" * 7 + b"\x01", 0)}}
    assert {row: list(history.deletes) for row, history in expected.rows.items()} == {b"a": [1], b"b": []}
    assert (expected.records, expected.applied, expected.ignored) == (3, 3, 1)
