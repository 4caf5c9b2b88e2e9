"""What records do to rows (B1 to B7, B9, B14, B15, B17, B18, B20): keys, deletes, nulls, folds, sizes, versions."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import Any

import pytest
from tests.system.lab import Lab, Letter, Sent, no_trace, visible

from milepost.config import Config
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus

KEYS = {
    "a zero byte": b"\x00",
    "a zero byte inside": b"a\x00b",
    "a separator": b"a|b",
    "an escape": b"a\\|b",
    "a new line": b"a\nb",
    "an emoji": "🦊".encode(),
    "a space in front": b" a",
    "a space behind": b"a ",
    "composed": unicodedata.normalize("NFC", "é").encode(),
    "decomposed": unicodedata.normalize("NFD", "é").encode(),
}
# Key, value, and what must become of the record: as text, and as bytes.
LOG: list[tuple[bytes | None, bytes | None, str, str]] = [
    (b"deleted", b"1", "put", "put"),
    (b"deleted", None, "delete", "delete"),
    (None, b"no key", "BAD_ROW_KEY", "BAD_ROW_KEY"),
    (None, None, "BAD_ROW_KEY", "BAD_ROW_KEY"),
    (b"", b"empty key", "BAD_ROW_KEY", "BAD_ROW_KEY"),
    (b"empty", b"", "put", "put"),
    (b"word", b"null", "put", "put"),
    (b"quoted", b'"null"', "put", "put"),
    (b"\xff\xfe", b"odd key", "MALFORMED", "put"),
    (b"odd value", b"\xc3\x28", "MALFORMED", "put"),
    *((key, kind.encode(), "put", "put") for kind, key in KEYS.items()),
]


class Result:
    """One run over the log above."""

    def __init__(self, lab: Lab, word: str) -> None:
        self.expected = [as_text if word == "string" else as_bytes for _, _, as_text, as_bytes in LOG]
        self.topic = lab.topic(*(Sent(value, key) for key, value, _, _ in LOG))
        dead = lab.topic(prefix="dead")
        config = lab.config(
            self.topic,
            lab.table("d"),
            source={"format": word, "bad-records": {"dead-letter": dead}},
            sink={"row-key": ["key"], "columns": {"d": ["value"]}},
        )
        self.progress: Progress = lab.finish(config)
        self.letters: dict[int, Letter] = {each.origin[2]: each for each in lab.letters(dead)}
        self.cells = lab.cells(config)


@pytest.fixture(scope="module", params=["string", "raw"])
def result(lab: Lab, request: pytest.FixtureRequest) -> Result:
    return Result(lab, request.param)


def test_keys_and_values_are_stored_byte_for_byte(result: Result) -> None:
    kept = {
        LOG[at][0]: {b"value": LOG[at][1]}
        for at, what in enumerate(result.expected)
        if what == "put" and LOG[at][0] != b"deleted"
    }
    assert visible(result.cells) == kept


def test_a_tombstone_deletes(result: Result) -> None:
    markers = [cell for cell in result.cells if cell[4] != "Put"]
    assert [(cell[0], cell[3], cell[4]) for cell in markers] == [(b"deleted", 1, "DeleteFamily")]


def test_what_cannot_be_a_row_goes_to_the_policy_with_its_bytes(result: Result) -> None:
    bad = {at: what for at, what in enumerate(result.expected) if what.isupper()}
    assert {at: letter.reason for at, letter in result.letters.items()} == bad
    for at, letter in result.letters.items():
        assert (letter.key, letter.value) == LOG[at][:2]
        assert letter.origin == (result.topic, 0, at)
    totals = result.progress.totals
    assert totals["puts"] + totals["deletes"] + result.progress.rejected_count == len(LOG)


# ---- nulls and deletes ----

NULLS: list[dict[str, Any]] = [
    {"id": "r", "a": 1, "b": 2},
    {"id": "r", "a": None, "b": 3},
    {"id": "all-null"},
    {"id": "x", "a": 1, "b": 1},
    {"id": "x", "op": "d"},
]
INT = {number: number.to_bytes(4, "big") for number in range(1000)}


def stream(documents: list[dict[str, Any]]) -> list[Sent]:
    return [Sent(json.dumps({"op": "u"} | each).encode()) for each in documents]


def job(lab: Lab, topic: str, table: str, **sink: Any) -> Config:
    schema = "id STRING, a INT, b INT, op STRING"
    changes = {"columns": {"d": ["a", "b"]}, "op": "op"} | sink
    return lab.config(topic, table, source={"format": "json", "schema": schema}, sink=changes)


@pytest.fixture(scope="module")
def nulls(lab: Lab) -> str:
    return lab.topic(*stream(NULLS))


@pytest.mark.parametrize(
    ("word", "scope", "row", "all_null", "noops"),
    [
        ("skip", "row", {b"a": INT[1], b"b": INT[3]}, None, 1),
        ("empty", "columns", {b"a": b"", b"b": INT[3]}, {b"a": b"", b"b": b""}, 0),
        ("delete", "columns", {b"b": INT[3]}, None, 0),
    ],
)
def test_nulls_and_deletes_do_what_the_file_says(
    lab: Lab, nulls: str, word: str, scope: str, row: dict[bytes, bytes], all_null: Any, noops: int
) -> None:
    table = lab.table("d", "other")
    foreign = lab.hbase.jvm.org.apache.hadoop.hbase.client.Put(b"x")
    foreign.addColumn(b"d", b"foreign", 0, b"f")
    foreign.addColumn(b"other", b"untouched", 0, b"u")
    lab.hbase._table(table).put(foreign)
    config = job(lab, nulls, table, nulls=word, delete=scope)
    progress = lab.finish(config)
    cells = lab.cells(config)
    rows = visible(cells)
    assert rows[b"r"] == row
    assert rows.get(b"all-null") == all_null
    assert progress.totals["noops"] == noops
    assert all(cell[5] != b"null" for cell in cells)
    # Only `delete: row` may take what this job never wrote, and only in the families it writes.
    assert rows[b"x"] == {b"untouched": b"u"} | ({} if scope == "row" else {b"foreign": b"f"})
    assert sum(progress.totals[word] for word in ("puts", "deletes", "noops")) == len(NULLS)


# ---- several records of one row ----

FOLDED: list[dict[str, Any]] = [
    {"id": "put-delete", "a": 1},
    {"id": "put-delete", "op": "d"},
    {"id": "delete-put", "op": "d"},
    {"id": "delete-put", "a": 2},
    {"id": "parts", "a": 1},
    {"id": "parts", "b": 2},
    {"id": "parts", "a": 3},
    {"id": "cleared", "a": 1, "b": 1},
    {"id": "cleared", "op": "d"},
    {"id": "cleared", "b": 5},
    *({"id": "busy", "a": number} for number in range(1000)),
]


@pytest.fixture(scope="module")
def folded(lab: Lab) -> str:
    return lab.topic(*stream(FOLDED))


@pytest.mark.parametrize("rows", [1, 1000], ids=["a flush each", "one flush"])
def test_the_last_record_of_a_row_wins_column_by_column(lab: Lab, folded: str, rows: int) -> None:
    config = job(lab, folded, lab.table("d"), flush={"rows": rows})
    progress = lab.finish(config)
    assert progress.totals["puts"] + progress.totals["deletes"] == len(FOLDED)
    cells = lab.cells(config)
    assert visible(cells) == {
        b"delete-put": {b"a": INT[2]},
        b"parts": {b"a": INT[3], b"b": INT[2]},
        b"cleared": {b"b": INT[5]},
        b"busy": {b"a": INT[999]},
    }
    newest = {(cell[0], cell[2]): cell[3] for cell in sorted(cells, key=lambda cell: cell[3])}
    assert newest[b"parts", b"b"] == 5  # a column keeps the version of the record that wrote it
    assert newest[b"busy", b"a"] == len(FOLDED) - 1


# ---- versions from timestamps ----

HOUR = 3_600_000
YEAR_9999 = 253_370_764_800_000


def test_a_timestamp_that_cannot_be_a_version_goes_to_the_policy(lab: Lab) -> None:
    now = int(time.time() * 1000)
    good = {"past": now - HOUR, "soon": now + HOUR}
    bad = {"none": -1, "negative": -5000, "tomorrow": now + 25 * HOUR, "9999": YEAR_9999}
    stamps = good | bad
    records = [Sent(b"%d" % stamp, word.encode(), timestamp=stamp) for word, stamp in stamps.items()]
    late = Sent(b"older", b"past", timestamp=now - 2 * HOUR)
    topic = lab.topic(*records, late, message_timestamp_after_max_ms=str(2**63 - 1))
    dead = lab.topic(prefix="dead")
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "string", "bad-records": {"dead-letter": dead}},
        sink={"row-key": ["key"], "columns": {"d": ["value"]}, "version": "timestamp"},
    )
    progress = lab.finish(config)
    assert progress.rejected == {"BAD_VERSION": len(bad)}
    assert {letter.key for letter in lab.letters(dead)} == {word.encode() for word in bad}
    shown = visible(lab.cells(config))
    assert shown == {word.encode(): {b"value": b"%d" % stamp} for word, stamp in good.items()}


def test_a_negative_version_goes_to_the_policy(lab: Lab) -> None:
    numbers = {"negative": -1, "none": None, "largest": 2**63 - 1, "fine": 7}
    records = [Sent(json.dumps({"id": word, "v": number}).encode()) for word, number in numbers.items()]
    config = lab.config(
        lab.topic(*records),
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, v BIGINT", "bad-records": "skip"},
        sink={"columns": {"d": {"q": "id"}}, "version": {"column": "v"}},
    )
    assert lab.finish(config).rejected == {"BAD_VERSION": 3}
    assert [(cell[0], cell[3]) for cell in lab.cells(config)] == [(b"fine", 7)]


# ---- sizes ----

LIMIT = 10 << 20
ROOM = 12 << 20


@pytest.fixture(scope="module")
def large(lab: Lab) -> str:
    """A cell as large as HBase takes, one that is too large, and a small one behind them."""
    return lab.topic(
        Sent(b"f" * (LIMIT - 256), b"fits"),
        Sent(b"t" * (LIMIT + 1), b"too large"),
        Sent(b"s", b"small"),
        max_message_bytes=str(ROOM),
    )


def large_job(lab: Lab, topic: str, dead: str) -> Config:
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": "string", "bad-records": {"dead-letter": dead}},
        sink={"row-key": ["key"], "columns": {"d": ["value"]}},
    )


def test_a_cell_too_large_goes_to_the_policy_at_once(lab: Lab, large: str) -> None:
    dead = lab.topic(prefix="dead", max_message_bytes=str(ROOM))
    config = large_job(lab, large, dead)
    began = time.monotonic()
    progress = lab.finish(config)
    assert time.monotonic() - began < 20  # HBase's client would try for minutes
    assert progress.rejected == {"OVERSIZED": 1}
    (letter,) = lab.letters(dead)
    assert letter.value == b"t" * (LIMIT + 1)
    assert (letter.key, letter.origin) == (b"too large", (large, 0, 1))
    assert {row: len(cells[b"value"]) for row, cells in visible(lab.cells(config)).items()} == {
        b"fits": LIMIT - 256,
        b"small": 1,
    }


def test_a_dead_letter_that_the_broker_refuses_stops_the_job(lab: Lab, large: str) -> None:
    dead = lab.topic(prefix="dead")
    run = lab.run_bounded(large_job(lab, large, dead))
    assert run.status is JobStatus.FAILED
    assert f"dead letter could not be written to topic '{dead}'" in str(run.error)
    assert no_trace(str(run.error))
    assert run.progress.checkpoint_id is None


def test_a_record_as_large_as_the_broker_takes_is_applied(lab: Lab) -> None:
    # Kafka's own limit is 1,048,588 bytes for the batch, of which some go to its headers.
    largest = b"v" * 1_048_500
    topic = lab.topic(Sent(largest, b"k"), Sent(b"after", b"l"))
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "raw"},
        sink={"row-key": ["key"], "columns": {"d": ["value"]}},
    )
    assert lab.finish(config).rows == 2
    assert visible(lab.cells(config)) == {b"k": {b"value": largest}, b"l": {b"value": b"after"}}


def test_a_record_with_a_hundred_thousand_fields_is_read_for_those_that_are_declared(lab: Lab) -> None:
    document = {f"field-{number}": number for number in range(100_000)} | {"id": "wide", "n": 7}
    topic = lab.topic(Sent(json.dumps(document).encode()), max_message_bytes=str(ROOM))
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
    )
    assert lab.finish(config).rows == 1
    assert visible(lab.cells(config)) == {b"wide": {b"n": b"7"}}


def test_a_row_of_a_thousand_columns_is_written_whole(lab: Lab) -> None:
    names = [f"c{number}" for number in range(1000)]
    topic = lab.topic(
        Sent(json.dumps({name: number for number, name in enumerate(names)} | {"id": "r"}).encode())
    )
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, " + ", ".join(f"{name} INT" for name in names)},
        sink={"columns": {"d": names}, "encoding": "string"},
    )
    assert lab.finish(config).rows == 1
    (cells,) = visible(lab.cells(config)).values()
    assert cells == {name.encode(): str(number).encode() for number, name in enumerate(names)}
