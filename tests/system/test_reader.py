"""`spark.read.format("milepost-hbase")`: what is pushed down to HBase changes what is read, never what is found."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab

from milepost.engine import java_map, jvm

REGIONS = 3
COLUMNS = {"d": ["v", "w"], "e": ["w2"]}
VALUES = "v INT, w STRING, w2 STRING"


class Key(NamedTuple):
    """A row key: its columns as DDL, what is in them, and how they are encoded."""

    ddl: str
    encoding: str = "native"
    salt: int = 0

    @property
    def columns(self) -> dict[str, str]:
        return dict(column.split(" ") for column in self.ddl.split(", "))

    def options(self, lab: Lab, table: str) -> dict[str, str]:
        return {
            "quorum": lab.services.quorum,
            "table": table,
            "row-key": json.dumps(list(self.columns)),
            "columns": json.dumps(COLUMNS),
            "encoding": self.encoding,
            "salt": str(self.salt),
        }


KEYS = [
    Key("k STRING"),
    Key("k BIGINT"),
    Key("k SMALLINT", salt=3),
    Key("k DOUBLE"),
    Key("k STRING, n TINYINT, s STRING"),
    Key("n INT, s STRING", salt=4),
    Key("k STRING, s STRING", encoding="string"),
]
NUMBERS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}


def value(choose: random.Random, kind: str) -> Any:
    """Return one of few values, so that a comparison meets many rows, the outermost among them."""
    if kind in NUMBERS:
        edge = 1 << NUMBERS[kind]
        return choose.choice([0, 1, -1, choose.randint(-9, 9), edge - 1, -edge])
    if kind == "DOUBLE":
        return choose.choice([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 1e300])
    return "".join(choose.choices(["a", "b", "|", "\\", "\x00", "\x01", "]", "ü"], k=choose.randint(1, 3)))


def predicate(choose: random.Random, columns: dict[str, str], depth: int = 0) -> Any:
    """Return a condition on the row key, the values, or both."""
    if depth < 2 and choose.random() < 0.4:
        left, right = (predicate(choose, columns, depth + 1) for _ in range(2))
        return left & right if choose.random() < 0.6 else left | right
    name, kind = choose.choice([*columns.items(), *columns.items(), ("v", "INT"), ("w2", "STRING")])
    column, one = F.col(name), F.lit(value(choose, kind))
    several = [value(choose, kind) for _ in range(3)]
    conditions = [
        column == one,
        column < one,
        column <= one,
        column > one,
        column >= one,
        column.isin(several),
    ]
    if kind == "STRING":
        conditions.append(column.startswith(value(choose, kind)[:1]))
    return choose.choice([*conditions, ~choose.choice(conditions), column == one])


def filled(lab: Lab, key: Key, choose: random.Random) -> DataFrame:
    """Return a table over several regions, in which not every row has every cell."""
    table = lab.name("reader")
    options = key.options(lab, table)
    families = jvm(lab.spark).java.util.ArrayList()
    for family in COLUMNS:
        families.add(family)
    jvm(lab.spark).io.milepost.hbase.table.HBaseInspector.createTable(
        java_map(lab.spark, options), families, java_map(lab.spark, {}), REGIONS
    )
    schema = f"{key.ddl}, {VALUES}"
    rows = {}
    for _ in range(80):
        parts = tuple(value(choose, kind) for kind in key.columns.values())
        cells = [choose.choice([None, choose.randint(-9, 9)]), choose.choice([None, "x"])]
        rows[repr(parts)] = (*parts, *cells, "a" if cells == [None, None] else choose.choice([None, "b"]))
    written = lab.spark.createDataFrame(list(rows.values()), schema)
    written.write.format("milepost-hbase").mode("append").options(
        **options, version="server-time", nulls="skip"
    ).save()
    return lab.spark.read.format("milepost-hbase").options(**options).schema(schema).load()


def same(rows: Iterable[Any]) -> list[str]:
    return sorted(repr(tuple(row)) for row in rows)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.ddl} {key.encoding} {key.salt}")
def test_a_filtered_read_finds_what_a_full_read_has(lab: Lab, key: Key) -> None:
    choose = random.Random(f"{key}")
    table = filled(lab, key, choose)
    everything = table.collect()
    assert len(everything) > 5
    conditions = [predicate(choose, key.columns) for _ in range(5)]
    truths = lab.spark.createDataFrame(everything, table.schema).select("*", *conditions).collect()
    width = len(table.columns)
    for at, condition in enumerate(conditions):
        wanted = choose.sample(range(width), choose.randint(1, width))
        expected = [[row[i] for i in wanted] for row in truths if row[width + at]]
        found = table.filter(condition).select(*(table.columns[i] for i in wanted)).collect()
        assert same(found) == same(expected), str(condition)


@pytest.fixture(scope="module")
def numbers(lab: Lab) -> DataFrame:
    return filled(lab, Key("k STRING, n TINYINT, s STRING"), random.Random(1))


def plan(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def test_less_is_asked_of_hbase(lab: Lab, numbers: DataFrame) -> None:
    one = numbers.filter("k = 'a' AND n > 3").select("w2")
    assert "rows [[a\\x00\\x01\\x04, a\\x00\\x01\\x80)], cells [e:w2]" in plan(one)
    assert numbers.rdd.getNumPartitions() == REGIONS
    assert one.rdd.getNumPartitions() == 1
    assert numbers.filter("k < 'a' AND k > 'b'").rdd.getNumPartitions() == 0
    assert "limit 3" in plan(numbers.limit(3))
    assert len(numbers.limit(3).collect()) == 3
    assert numbers.count() == len(numbers.collect())


def test_versions_and_delete_markers_of_raw_cells(lab: Lab) -> None:
    table = lab.table("d")
    key = Key("k STRING")
    options = key.options(lab, table) | {"columns": json.dumps({"d": ["v"]})}
    rows = [("a", 1, 10, "c"), ("a", 2, 20, "c"), ("a", 2, 30, "d"), ("b", 3, 40, "c"), ("b", 4, 50, "c")]
    for row in rows:
        lab.spark.createDataFrame([row], "k STRING, v INT, at BIGINT, op STRING").write.format(
            "milepost-hbase"
        ).mode("append").options(**options, version="column:at", op="op").save()
    raw = lab.spark.read.format("milepost-hbase").options(**options, raw="true").load()
    cells = raw.select("row", "version", "type").collect()
    assert {(bytes(c.row), c.version, c.type) for c in cells} == {
        (b"a", 10, "Put"),
        (b"a", 20, "Put"),
        (b"a", 30, "DeleteFamily"),
        (b"b", 40, "Put"),
        (b"b", 50, "Put"),
    }
    recent = raw.filter("row = X'62' AND version > 40")
    assert [(bytes(c.row), c.version) for c in recent.collect()] == [(b"b", 50)]
    assert "rows [[b, b\\x00)], versions 41 to" in plan(recent)
    assert [c.version for c in raw.filter("version BETWEEN 20 AND 30").select("version").collect()] == [
        30,
        20,
    ]
    reader = lab.spark.read.format("milepost-hbase").options(**options).option("max-version", "40")
    earlier = reader.schema("k STRING, v INT").load()
    assert [tuple(row) for row in earlier.collect()] == [("b", 3)]
