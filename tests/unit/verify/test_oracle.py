"""The reference model: what records make of a row."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.unit.verify.faithful import MAPPING, delete, tombstone, upsert

from milepost.errors import VerificationError
from milepost.verify.history import CLEARED
from milepost.verify.oracle import Expected, Mapping, Record, expect
from milepost.verify.schema import parse_schema
from milepost.verify.versions import Era

CUSTOMER, AMOUNT = ("d", b"customer"), ("d", b"amount")
ONE, TWO = b"\0" * 7 + b"\x01", b"\0" * 7 + b"\x02"


def record(document: object, offset: int = 0, key: bytes | None = b"k") -> Record:
    return Record("orders", 0, offset, 0, key, json.dumps(document).encode())


def rejected(mapping: Mapping, *records: Record) -> dict[str, int]:
    return dict(expect(mapping, records).rejected)


def test_the_last_write_of_each_column_wins() -> None:
    expected = expect(MAPPING, [upsert(0, "a", "ann", 1), upsert(1, "a", None, 2)])
    assert expected.state() == {b"a": {CUSTOMER: (b"ann", 0), AMOUNT: (TWO, 1)}}
    assert set(expected.writes()) == {(b"a", CUSTOMER, 0), (b"a", AMOUNT, 0), (b"a", AMOUNT, 1)}


def test_a_delete_hides_what_was_before_it_and_nothing_after() -> None:
    log = [upsert(0, "a", "ann", 1), delete(1, "a"), upsert(2, "a", None, 2)]
    expected = expect(MAPPING, log)
    assert expected.state() == {b"a": {AMOUNT: (TWO, 2)}}
    assert list(expected.rows[b"a"].deletes) == [1]


def test_a_tombstone_deletes_where_a_column_takes_its_key() -> None:
    log = [upsert(0, "a", "ann", 1), tombstone(1, "a")]
    assert expect(MAPPING, log).state() == {}
    assert expect(replace(MAPPING, key_column="id"), log).state() == {}
    assert expect(replace(MAPPING, row_key=("id", "op")), log).rejected == {"BAD_ROW_KEY": 1}
    assert expect(replace(MAPPING, row_key=("_kafka.key",)), [tombstone(1, "a")]).rows[b"a"].deletes == [1]


def test_every_record_is_accounted_for() -> None:
    log = [
        upsert(0, "a", "ann", 1),
        upsert(1, "a", None, None),
        record({"id": "a", "op": "UPDATE_BEFORE"}, 2),
        record({"id": "a", "op": "Upsert"}, 3),
        record({"id": "a"}, 4),
        record({"id": None, "op": "delete"}, 5),
        record({"id": "", "op": "delete"}, 6),
        record({"id": "x" * 32768, "op": "delete"}, 7),
        record(None, 8),
    ]
    expected = expect(MAPPING, log)
    assert expected.rejected == {"UNKNOWN_OP": 2, "BAD_ROW_KEY": 3, "NULL_DOCUMENT": 1}
    assert (expected.records, expected.applied, expected.ignored) == (9, 1, 2)
    assert expected.records == expected.applied + expected.ignored + expected.rejected.total()


@pytest.mark.parametrize("op", ["upsert", "c", "r", "u", "INSERT", "UPDATE", "+I", "+U"])
def test_words_for_an_upsert(op: str) -> None:
    assert expect(MAPPING, [record({"id": "a", "amount": 1, "op": op})]).state() == {b"a": {AMOUNT: (ONE, 0)}}


@pytest.mark.parametrize("op", ["delete", "d", "DELETE", "-D"])
def test_words_for_a_delete(op: str) -> None:
    assert expect(MAPPING, [upsert(0, "a", "ann", 1), record({"id": "a", "op": op}, 1)]).state() == {}


def test_nulls_are_empty_cells_or_clear_the_column_where_the_mapping_says_so() -> None:
    log = [upsert(0, "a", "ann", 1), upsert(1, "a", None, 2)]
    assert expect(replace(MAPPING, nulls="empty"), log).state()[b"a"][CUSTOMER] == (b"", 1)
    cleared = expect(replace(MAPPING, nulls="delete"), log)
    assert CUSTOMER not in cleared.state()[b"a"]
    assert cleared.rows[b"a"].puts[1][1][0] is CLEARED


def test_versions_carry_the_generation() -> None:
    expected = expect(replace(MAPPING, eras={"orders": (Era(3, False, {}),)}), [upsert(5, "a", "ann", 1)])
    assert expected.state()[b"a"][CUSTOMER] == (b"ann", 3 << 48 | 5)


def test_versions_from_the_timestamp_and_a_tie_that_the_delete_wins() -> None:
    mapping = replace(MAPPING, version="timestamp")
    log = [delete(0, "a"), upsert(1, "a", "ann", 1), upsert(2, "a", "bob", 2)._replace(timestamp_ms=9)]
    assert expect(mapping, log[:2]).state() == {}
    assert expect(mapping, log).state()[b"a"][CUSTOMER] == (b"bob", 9)
    far = 1 << 60
    bad = [upsert(0, "a", "x", 1)._replace(timestamp_ms=ms) for ms in (-1, far, None)]
    assert rejected(mapping, *bad) == {"BAD_VERSION": 3}


def test_of_two_writes_with_one_version_the_later_stays() -> None:
    log = [upsert(0, "a", "ann", 1), upsert(1, "a", "bob", None)]
    state = expect(replace(MAPPING, version="timestamp"), log).state()
    assert state == {b"a": {CUSTOMER: (b"bob", 0), AMOUNT: (ONE, 0)}}


def test_versions_from_a_column() -> None:
    mapping = replace(MAPPING, version="column:amount")
    assert expect(mapping, [upsert(7, "a", "ann", 42)]).state()[b"a"][CUSTOMER] == (b"ann", 42)
    assert rejected(mapping, upsert(0, "a", "x", None), upsert(1, "a", "x", -1)) == {"BAD_VERSION": 2}
    times = replace(mapping, version="column:ts", schema=(*MAPPING.schema, *parse_schema("ts TIMESTAMP")))
    timed = record({"id": "a", "customer": "x", "op": "c", "ts": 1234})
    assert expect(times, [timed]).state()[b"a"][CUSTOMER] == (b"x", 1234)


def test_a_row_key_may_come_from_the_records_origin() -> None:
    mapping = replace(MAPPING, row_key=("_kafka.topic", "_kafka.offset", "_kafka.key"), encoding="string")
    assert list(expect(mapping, [record({"customer": "x", "op": "c"}, 9)]).rows) == [b"orders|9|k"]
    keyed = replace(MAPPING, row_key=("_kafka.key",))
    assert rejected(keyed, record({"customer": "x", "op": "c"}, key=None)) == {"BAD_ROW_KEY": 1}


def test_raw_records_are_keyed_by_their_key() -> None:
    mapping = Mapping(record_format="raw", schema=(), row_key=("key",), columns=(("d", "v", "value"),))
    events = [(b"a", b"1"), (b"b", b"2"), (b"a", None)]
    log = [Record("t", 0, offset, 0, key, value) for offset, (key, value) in enumerate(events)]
    assert expect(mapping, log).state() == {b"b": {("d", b"v"): (b"2", 1)}}


def test_a_salted_empty_key_is_a_bad_row_key() -> None:
    assert rejected(replace(MAPPING, salt=8), record({"id": "", "op": "delete"})) == {"BAD_ROW_KEY": 1}


def test_a_cell_too_large_for_hbase_is_rejected() -> None:
    limit = 10 * 1024 * 1024 - 24 - len("a" + "d" + "customer")
    assert rejected(MAPPING, upsert(0, "a", "x" * limit, 1)) == {}
    assert rejected(MAPPING, upsert(0, "a", "x" * (limit + 1), 1)) == {"OVERSIZED": 1}


@pytest.mark.parametrize(
    ("first", "second", "cause"),
    [
        (b"a", b"a", "the same Kafka key: partitions were added before the first start of the job"),
        (b"a", b"b", "different Kafka keys"),
        (None, None, "a record without a Kafka key may go to any partition"),
    ],
)
def test_keys_are_blamed_for_two_partitions_only_where_they_differ(
    first: bytes | None, second: bytes | None, cause: str
) -> None:
    log = [
        upsert(0, "a", "ann", 1)._replace(key=first),
        upsert(0, "a", "bob", 2, partition=1)._replace(key=second),
    ]
    with pytest.raises(VerificationError, match=cause) as caught:
        expect(MAPPING, log)
    assert ("Give all records" in str(caught.value)) == (first is None or first != second)


def test_a_row_written_from_two_partitions_has_no_right_state() -> None:
    log = [upsert(0, "a", "ann", 1), upsert(0, "a", "bob", 2, partition=1)]
    with pytest.raises(VerificationError, match="orders-0 and from orders-1"):
        expect(MAPPING, log)
    assert isinstance(expect(replace(MAPPING, version="timestamp"), log), Expected)


GROWN = (
    Era(0, False, {}),
    Era(1, True, {0: 10, 1: 10}, since=100, until=200),
    Era(2, False, dict.fromkeys(range(3), 20)),
)
EVOLVED = replace(MAPPING, eras={"orders": GROWN})


def at(record: Record, timestamp_ms: int) -> Record:
    return record._replace(timestamp_ms=timestamp_ms)


def test_a_row_may_move_while_its_topic_grows() -> None:
    log = [
        upsert(9, "a", "before", 1),
        at(upsert(0, "a", "moved", 2, partition=2), 150),
        at(upsert(15, "a", "late", 3), 120),
        upsert(30, "b", "after", 4, partition=1),
    ]
    state = expect(EVOLVED, log).state()
    assert state[b"a"][CUSTOMER][0] == b"moved"
    assert state[b"b"][CUSTOMER] == (b"after", 2 << 48 | 30)


@pytest.mark.parametrize(("first", "second"), [((0, 3), (1, 4)), ((0, 25), (1, 26))])
def test_a_row_of_two_partitions_in_one_era_has_no_right_state(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    log = [upsert(offset, "a", "x", 1, partition=partition) for partition, offset in (first, second)]
    with pytest.raises(VerificationError, match="orders-0 and from orders-1"):
        expect(EVOLVED, log)
