"""Avro and Python deserializers end to end; raw, string and json are in test_mutations.py and test_bad_records.py."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from pyspark.sql import Row
from tests.system.lab import Lab, Letter, Sent, no_trace

from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "count", "type": "long"},
            {"name": "amount", "type": "double"},
            {"name": "note", "type": ["null", "string"]},
        ],
    }
)


def zigzag(number: int) -> bytes:
    """Return Avro's variable-length integer."""
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def avro(key: str, count: int, amount: float, note: str | None) -> bytes:
    def text(value: str) -> bytes:
        return zigzag(len(value.encode())) + value.encode()

    branch = zigzag(0) if note is None else zigzag(1) + text(note)
    return text(key) + zigzag(count) + struct.pack("<d", amount) + branch


def test_avro_records_become_rows_and_broken_ones_dead_letters(lab: Lab) -> None:
    good = avro("ä", -(2**40), 0.25, "hello")
    records = [
        Sent(good, b"k"),
        Sent(avro("b", 300, -1.5, None), b"k"),
        Sent(good[:-3], b"cut"),
        Sent(good + b"\x00", b"more"),
        Sent(b"", b"empty"),
        Sent(b"\xff" * 12, b"noise"),
        Sent(avro("c", 1, 1.0, None), b"k"),
        Sent(None, b"c"),
    ]
    dead = lab.topic(prefix="dead")
    config = lab.config(
        lab.topic(*records),
        lab.table("d"),
        source={"format": "avro", "schema": AVRO, "bad-records": {"dead-letter": dead}},
        sink={"columns": {"d": ["count", "amount", "note"]}},
    )
    progress = lab.finish(config)
    assert progress.rejected == {"MALFORMED": 3, "EMPTY_VALUE": 1}
    assert {letter.key: letter.value for letter in lab.letters(dead)} == {
        record.key: record.value for record in records[2:6]
    }
    rows = lab.rows(config, "id STRING, count BIGINT, amount DOUBLE, note STRING")
    assert sorted(rows) == [
        Row(id="b", count=300, amount=-1.5, note=None),
        Row(id="ä", count=-(2**40), amount=0.25, note="hello"),
    ]


# ---- a deserializer in Python ----

DESERIALIZER = """
def decode(key, value):
    word = value.decode()
    if word == "raise":
        raise ValueError("no such thing")
    return {
        "none": None,
        "short": ("x",),
        "surplus": {"id": "x", "colour": 1},
        "type": {"id": "x", "size": "large"},
        "null": {"id": None, "size": 1},
        "overflow": {"id": "x", "size": 3_000_000_000},
        "tuple": ("tuple", 5, None),
    }.get(word, {"id": key.decode(), "size": len(value)})
"""
FAULTS = {
    "raise": "ValueError: no such thing",
    "none": "returned NoneType",
    "short": "returned 1 values, and the schema has 3 columns",
    "surplus": "the schema has no column 'colour'",
    "type": "size",
    "null": "id",
    "overflow": "3000000000",
}


def python_job(lab: Lab, topic: str, policy: Any, module: str = "deserializers:decode") -> Config:
    schema = "id STRING NOT NULL, size INT, note STRING"
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": {"python": module}, "schema": schema, "bad-records": policy},
        sink={"columns": {"d": ["size", "note"]}},
    )


@pytest.fixture(scope="module")
def words(lab: Lab) -> str:
    (lab.root / "deserializers.py").write_text(DESERIALIZER)
    good = [Sent(b"four", b"a"), Sent(b"tuple", b"t"), Sent(b"gone", b"g")]
    return lab.topic(
        *good, *(Sent(word.encode(), b"bad") for word in FAULTS), Sent(None, b"g"), Sent(b"z", b"z")
    )


@pytest.fixture(scope="module")
def decoded(lab: Lab, words: str) -> tuple[Progress, list[Row], dict[str, Letter]]:
    dead = lab.topic(prefix="dead")
    config = python_job(lab, words, {"dead-letter": dead})
    progress = lab.finish(config)
    rows = lab.rows(config, "id STRING, size INT, note STRING")
    return progress, rows, {(letter.value or b"").decode(): letter for letter in lab.letters(dead)}


@pytest.mark.parametrize("word", FAULTS)
def test_what_a_deserializer_cannot_read_is_a_dead_letter(
    decoded: tuple[Progress, list[Row], dict[str, Letter]], word: str
) -> None:
    letter = decoded[2][word]
    assert letter.reason == "DESERIALIZER_FAILED"
    assert FAULTS[word] in letter.detail
    assert letter.key == b"bad"


def test_a_deserializers_rows_are_written(decoded: tuple[Progress, list[Row], dict[str, Letter]]) -> None:
    progress, rows, letters = decoded
    assert sorted(rows) == [
        Row(id="a", size=4, note=None),
        Row(id="tuple", size=5, note=None),
        Row(id="z", size=1, note=None),
    ]
    assert progress.rejected == {"DESERIALIZER_FAILED": len(FAULTS)}
    assert progress.totals["puts"] + progress.totals["deletes"] == 5
    assert len(letters) == len(FAULTS)


def test_a_deserializer_that_raises_stops_a_job_that_may_not_lose(lab: Lab, words: str) -> None:
    run = lab.run_bounded(python_job(lab, words, "fail"))
    assert run.status is JobStatus.FAILED
    assert f"DESERIALIZER_FAILED at {words}-0@3: ValueError: no such thing" in str(run.error)
    assert no_trace(str(run.error))


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("no_such_module:decode", "cannot be imported"),
        ("deserializers:no_such_function", "has no function 'no_such_function'"),
    ],
)
def test_a_deserializer_that_is_not_there_is_refused(
    lab: Lab, words: str, reference: str, sentence: str
) -> None:
    with pytest.raises(PreflightError, match=sentence):
        lab.start(python_job(lab, words, "fail", reference))


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"format": "json", "schema": "id STRNG"}, "STRNG"),
        ({"format": "json", "schema": "id STRING, id INT"}, "id"),
        ({"format": "avro", "schema": AVRO.replace('"double"', '"dubble"')}, "dubble"),
        ({"format": "json", "schema": "id STRING", "key-column": "nope"}, "key-column names 'nope'"),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(
    lab: Lab, words: str, source: dict[str, Any], sentence: str
) -> None:
    config = lab.config(words, lab.table("d"), source=source, sink={"columns": {"d": {"q": "id"}}})
    with pytest.raises(PreflightError, match=sentence) as raised:
        lab.start(config)
    assert "source.kafka" in str(raised.value)
