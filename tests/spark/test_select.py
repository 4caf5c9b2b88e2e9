"""What the sink reads of the rows, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from milepost.config import HBaseSink
from milepost.errors import PreflightError
from milepost.sink.hbase import select
from milepost.transform import apply, from_sql


def sink(**values: Any) -> HBaseSink:
    return HBaseSink(
        **{"quorum": "zk:2181", "table": "t", "row_key": ["id"], "columns": {"d": ["v"]}} | values
    )


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(1).selectExpr(
        "id", "'x' AS v", "0 AS extra", "named_struct('topic', 't', 'offset', 5L) AS _kafka"
    )


def test_only_what_is_mapped_is_taken(rows: DataFrame):
    assert select(rows, sink(), "_kafka").columns == ["id", "v", "_kafka"]


def test_a_row_key_may_come_from_the_record(rows: DataFrame):
    selected = select(rows, sink(row_key=["_kafka.topic", "id"]), "_kafka")
    assert selected.columns == ["_kafka.topic", "id", "v", "_kafka"]
    assert selected.collect()[0][0] == "t"


def test_a_column_that_is_not_there_is_named_with_its_key(rows: DataFrame):
    with pytest.raises(PreflightError, match=r"sink.hbase.columns.d names the column 'w'") as raised:
        select(rows, sink(columns={"d": ["w"]}, op="o"), "_kafka")
    assert "sink.hbase.op names the column 'o'" in str(raised.value)


@pytest.mark.parametrize("version", ["offset", "timestamp"])
def test_rows_of_many_records_have_no_offset(rows: DataFrame, version: str):
    aggregate = rows.groupBy("id").agg({"v": "max"}).withColumnRenamed("max(v)", "v")
    with pytest.raises(PreflightError, match="does not correspond to a single record"):
        select(aggregate, sink(version=version), "_kafka")
    assert select(aggregate, sink(version="checkpoint"), "_kafka").columns == ["id", "v"]
    assert select(aggregate, sink(version="server-time"), "_kafka").columns == ["id", "v"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELEC id FROM source", "Syntax error at or near 'SELEC'"),
        ("SELECT nope FROM source", "nope"),
        ("SELECT 1 AS id", "does not read the source"),
    ],
)
def test_a_wrong_query_is_refused_in_a_sentence(spark: SparkSession, query: str, sentence: str):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(PreflightError, match=sentence) as raised:
        apply(from_sql(spark, query, {"source": stream}), {"source": stream}, "transform.sql")
    assert "transform.sql" in raised.value.what
    assert "JVM stacktrace" not in str(raised.value)


def test_a_function_that_forgets_to_return_is_refused(spark: SparkSession):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(PreflightError, match="returned NoneType"):
        apply(lambda rows: None, {"source": stream}, "transform.python")  # type: ignore[arg-type,return-value]


def test_several_sources_are_views_of_their_names(spark: SparkSession):
    views = {name: spark.readStream.format("rate").load() for name in ("left_one", "right_one")}
    query = "SELECT value FROM left_one UNION ALL SELECT value FROM right_one"
    assert apply(from_sql(spark, query, views), views, "transform.sql").columns == ["value"]


def test_several_sources_are_keyword_arguments_of_a_function(spark: SparkSession):
    views = {name: spark.readStream.format("rate").load() for name in ("a", "b")}
    rows = apply(lambda b, a: a.select("value").unionAll(b.select("value")), views, "transform.python")
    assert rows.columns == ["value"]


def test_a_mistake_over_several_sources_names_the_columns_of_each(spark: SparkSession):
    views = {name: spark.readStream.format("rate").load() for name in ("a", "b")}
    with pytest.raises(
        PreflightError, match="View a has the columns timestamp, value; View b has the columns"
    ):
        apply(lambda a, b: a.select("nope"), views, "transform.python")
