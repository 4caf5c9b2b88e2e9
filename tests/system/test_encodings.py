"""Each encoding there and back (B17): typed through `spark.read`, native through HBase's own client, keys apart."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row
from tests.system.lab import Lab, Sent

from milepost.config import Config

FLAT = {
    "text": "STRING",
    "yes": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "whole": "INT",
    "big": "BIGINT",
    "single": "FLOAT",
    "double": "DOUBLE",
    "price": "DECIMAL(12,3)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "wall": "TIMESTAMP_NTZ",
    "bytes": "BINARY",
}
NESTED = {"list": "ARRAY<INT>", "map": "MAP<STRING,BIGINT>", "pair": "STRUCT<a: INT, b: STRING>"}
FULL = {
    "id": "full",
    "text": 'a|b\\ "q" 🦊',
    "yes": True,
    "tiny": -128,
    "small": -32768,
    "whole": -(2**31),
    "big": 2**63 - 1,
    "single": 0.1,
    "double": 5e-324,
    "price": "PRICE",
    "day": "2024-02-29",
    "at": "2024-02-29T12:34:56.789012+02:00",
    "wall": "1969-12-31T23:59:59.5",
    "bytes": "AP8=",
    "list": [1, None, 3],
    "map": {"k": 9},
    "pair": {"a": 1, "b": "x"},
}
EXPECTED = {
    "text": FULL["text"],
    "yes": True,
    "tiny": -128,
    "small": -32768,
    "whole": -(2**31),
    "big": 2**63 - 1,
    "double": 5e-324,
    "price": Decimal("-123456789.125"),
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 10, 34, 56, 789012, tzinfo=timezone.utc),
    "wall": datetime(1969, 12, 31, 23, 59, 59, 500_000),  # noqa: DTZ001 - a time without a zone
    "bytes": bytearray(b"\x00\xff"),
    "list": [1, None, 3],
    "map": {"k": 9},
    "pair": Row(a=1, b="x"),
}


def schema(columns: dict[str, str]) -> str:
    return "id STRING, " + ", ".join(f"{name} {kind}" for name, kind in columns.items())


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    # A decimal is written as a number with all its digits.
    full = json.dumps(FULL).replace('"PRICE"', "-123456789.125")
    return lab.topic(Sent(full.encode()), Sent(b'{"id": "bare", "whole": 0}'))


def written(lab: Lab, topic: str, encoding: str) -> tuple[Config, dict[str, str]]:
    columns = FLAT | NESTED if encoding == "json" else FLAT
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": schema(FLAT | NESTED)},
        sink={"columns": {"d": list(columns)}, "encoding": encoding},
    )
    assert lab.finish(config).totals["puts"] == 2
    return config, columns


@pytest.mark.parametrize("encoding", ["native", "string", "json"])
def test_rows_come_back_typed(lab: Lab, topic: str, encoding: str) -> None:
    config, columns = written(lab, topic, encoding)
    rows = {row["id"]: row.asDict() for row in lab.rows(config, schema(columns))}
    full, bare = rows["full"], rows["bare"]
    assert full["single"] == pytest.approx(0.1, rel=1e-7)
    for name in columns.keys() - {"single", "at"}:
        assert full[name] == EXPECTED[name], name
    assert full["at"].astimezone(timezone.utc) == EXPECTED["at"]
    assert bare == dict.fromkeys(columns) | {"id": "bare", "whole": 0}


def test_hbases_own_client_reads_the_native_encoding(lab: Lab, topic: str) -> None:
    config, _ = written(lab, topic, "native")
    cells = {
        name[1].decode(): value for name, value in lab.hbase.get(config.sink.hbase.table, b"full").items()
    }
    java: Any = lab.hbase.jvm.org.apache.hadoop.hbase.util.Bytes
    assert java.toString(cells["text"]) == FULL["text"]
    assert java.toBoolean(cells["yes"]) is True
    assert cells["tiny"] == b"\x80"
    assert java.toShort(cells["small"]) == -32768
    assert java.toInt(cells["whole"]) == -(2**31)
    assert java.toLong(cells["big"]) == 2**63 - 1
    assert java.toFloat(cells["single"]) == pytest.approx(0.1, rel=1e-7)
    assert java.toDouble(cells["double"]) == 5e-324
    assert str(java.toBigDecimal(cells["price"])) == "-123456789.125"
    assert java.toInt(cells["day"]) == (date(2024, 2, 29) - date(1970, 1, 1)).days
    assert java.toLong(cells["at"]) == 1_709_202_896_789_012
    assert java.toLong(cells["wall"]) == -500_000
    assert cells["bytes"] == b"\x00\xff"


# ---- composite keys ----

PAIRS = [
    ("a|b", "c"),
    ("a", "b|c"),
    ("a\\", "|b"),
    ("a\\|", "b"),
    ("a\x00", "b"),
    ("a", "\x00b"),
    ("a\x00\x01", "b"),
    ("a", "\x01b"),
    ("", "ab"),
    ("ab", ""),
    ("a", "b"),
]


@pytest.mark.parametrize(("encoding", "salt"), [("native", 0), ("string", 0), ("native", 16)])
def test_no_two_composite_keys_collide(lab: Lab, encoding: str, salt: int) -> None:
    records = [Sent(json.dumps({"x": x, "y": y, "v": f"{at}"}).encode()) for at, (x, y) in enumerate(PAIRS)]
    config = lab.config(
        lab.topic(*records),
        lab.table("d"),
        source={"format": "json", "schema": "x STRING, y STRING, v STRING"},
        sink={"row-key": ["x", "y"], "columns": {"d": ["v"]}, "encoding": encoding, "salt": salt},
    )
    lab.finish(config)
    found = {(row.x, row.y): row.v for row in lab.rows(config, "x STRING, y STRING, v STRING")}
    assert found == {pair: f"{at}" for at, pair in enumerate(PAIRS)}


def test_a_key_of_numbers_and_coordinates(lab: Lab) -> None:
    topic = lab.topic(Sent(b'{"n": -1, "v": "x"}'), Sent(b'{"n": 2, "v": "y"}'))
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "n INT, v STRING"},
        sink={"row-key": ["_kafka.topic", "n", "_kafka.offset"], "columns": {"d": ["v"]}},
    )
    lab.finish(config)
    assert {cell[0] for cell in lab.cells(config)} == {
        topic.encode() + b"\x00\x01" + n.to_bytes(4, "big", signed=True) + offset.to_bytes(8, "big")
        for n, offset in ((-1, 0), (2, 1))
    }
