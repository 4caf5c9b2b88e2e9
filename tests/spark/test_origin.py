"""`_kafka` goes with each row that comes from one record, and with no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from milepost.engine import jvm

ORIGIN = (
    "named_struct('topic', 't', 'partition', 0, 'offset', id, 'timestamp', timestamp_millis(0), "
    "'key', CAST(NULL AS BINARY), 'tombstone', false) AS _kafka"
)


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    rows = spark.range(4).selectExpr("id", "id % 2 AS parity", "array(id, id + 10) AS both", ORIGIN)
    rows.createOrReplaceTempView("source")
    return rows


def carry(rows: DataFrame) -> DataFrame:
    spark = rows.sparkSession
    return DataFrame(jvm(spark).io.milepost.plan.OriginColumn.carry(rows._jdf), spark)


KEPT = [
    "SELECT id FROM source",
    "SELECT id + 1 AS next FROM source WHERE parity = 1",
    "SELECT * FROM (SELECT id AS a, parity FROM source) WHERE parity = 0",
    "WITH c AS (SELECT id FROM source) SELECT id * 2 AS twice FROM c",
    "SELECT explode(both) AS each FROM source",
    "SELECT s.id, names.name FROM source s JOIN VALUES (0, 'even'), (1, 'odd') AS names(parity, name) USING (parity)",
    "SELECT CASE WHEN parity = 0 THEN 'x' END AS c FROM source",
    "SELECT id FROM source UNION ALL SELECT parity FROM source",
    "SELECT id + 1 AS n FROM (SELECT id FROM source UNION ALL SELECT id * 2 FROM source WHERE parity = 1)",
]


@pytest.mark.parametrize("query", KEPT)
def test_each_row_keeps_its_record(spark: SparkSession, records: DataFrame, query: str):
    before = spark.sql(query)
    after = carry(before)
    assert after.columns == [*before.columns, "_kafka"]
    assert after.drop("_kafka").collect() == before.collect()


def test_the_offset_is_that_of_the_row(spark: SparkSession, records: DataFrame):
    rows = (
        carry(spark.sql("SELECT id + 100 AS n FROM source WHERE parity = 1"))
        .select("n", "_kafka.offset")
        .collect()
    )
    assert [tuple(row) for row in rows] == [(101, 1), (103, 3)]


def test_each_part_of_a_union_keeps_its_own_record(spark: SparkSession, records: DataFrame):
    query = "SELECT id AS n FROM source WHERE id = 1 UNION ALL SELECT id + 100 FROM source WHERE id = 2"
    rows = carry(spark.sql(query)).select("n", "_kafka.offset").collect()
    assert sorted(tuple(row) for row in rows) == [(1, 1), (102, 2)]


def test_of_duplicates_the_row_that_stays_keeps_its_record(records: DataFrame):
    rows = carry(records.select("parity").dropDuplicates(["parity"])).select("parity", "_kafka.offset")
    assert all(row["offset"] % 2 == row["parity"] for row in rows.collect())


def test_what_names_it_itself_is_left_alone(spark: SparkSession, records: DataFrame):
    rows = spark.sql("SELECT *, _kafka.offset AS o FROM source")
    assert carry(rows).columns == rows.columns


LOST: list[Callable[[DataFrame], DataFrame]] = [
    lambda rows: rows.groupBy("parity").count(),
    lambda rows: rows.select("id").groupBy().agg(F.sum("id")),
    lambda rows: rows.sparkSession.sql("SELECT id FROM source UNION SELECT id FROM source"),
    lambda rows: rows.select("id").union(rows.groupBy("parity").count().select("count")),
    lambda rows: rows.select("id").union(rows.sparkSession.range(2)),
]


@pytest.mark.parametrize("transformation", LOST)
def test_a_row_of_many_records_has_none(records: DataFrame, transformation: Callable[[DataFrame], DataFrame]):
    assert "_kafka" not in carry(transformation(records)).columns


def test_another_column_of_that_name_is_not_taken_for_it(spark: SparkSession):
    rows = spark.range(1).selectExpr("id", "id AS _kafka").select("id")
    assert carry(rows).columns == ["id"]
