"""SQL over real state: an aggregation, a join and a Python counter; queries that read anything else are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from milepost.checkpoint.store.pinned_settings import PROVIDER, ROCKSDB
from milepost.errors import PreflightError
from milepost.inspect.state import StateView, run_query, spark_path, state_views

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


class Counter(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self._count = handle.getValueState("count", "n BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = (self._count.get()[0] if self._count.exists() else 0) + sum(1 for _ in rows)
        self._count.update((count,))
        yield Row(word=key[0], n=count)

    def close(self) -> None:
        pass


def words(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema("word STRING, at TIMESTAMP").json(str(folder))


def run(rows: DataFrame, directory: Path) -> None:
    query = rows.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(directory))
    query.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture(scope="module")
def left(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What three jobs with state have left, in a directory with a space in its name."""
    folder, root = tmp_path_factory.mktemp("words"), tmp_path_factory.mktemp("left behind")
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set(CHANGELOG, "true")
    records = [{"word": word, "at": "2026-01-01T00:00:00Z"} for word in "aab"]
    (folder / "0.json").write_text("\n".join(map(json.dumps, records)))
    rows = words(spark, folder)
    timed = rows.withWatermark("at", "1 hour")
    other = timed.select(F.col("word").alias("other"), F.col("at").alias("then"))
    run(rows.groupBy("word").count(), root / "sums")
    run(rows.groupBy("word").agg(F.count("*"), F.count(F.expr("nullif(word, 'b')"))), root / "twice")
    run(timed.join(other, F.expr("word = other AND at = then")), root / "pairs")
    counted = rows.groupBy("word").transformWithState(Counter(), "word STRING, n BIGINT", "update", "None")
    run(counted, root / "counter")
    return root


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if not path.name.startswith(".")}


@pytest.fixture(scope="module")
def reached(left: Path) -> Iterator[Path]:
    with spark_path(str(left)) as path:
        yield Path(path)


@pytest.fixture
def sums(spark: SparkSession, reached: Path) -> list[StateView]:
    spark.conf.set("spark.sql.runSQLOnFiles", "false")
    return state_views(spark, str(reached / "sums"), 0)


def test_an_aggregation_can_be_asked(spark: SparkSession, left: Path, sums: list[StateView]) -> None:
    before = files(left)
    assert [(view.name, view.operator) for view in sums] == [("state_0", "stateStoreSave")]
    answer = run_query(spark, sums, "SELECT key.word, value.count AS n FROM state_0 ORDER BY 1", limit=10)
    assert [json.loads(row) for row in answer.rows] == [{"word": "a", "n": 2}, {"word": "b", "n": 1}]
    assert not answer.is_cut
    cut = run_query(spark, sums, "SELECT * FROM state_0", limit=1)
    assert (len(cut.rows), cut.is_cut, list(cut.columns)) == (1, True, ["key", "value", "partition_id"])
    assert files(left) == before, "reading leaves nothing behind"


def test_a_join_and_a_python_counter_have_views_of_their_own(spark: SparkSession, reached: Path) -> None:
    pairs = state_views(spark, str(reached / "pairs"), 0)
    assert [view.name for view in pairs] == ["state_0_left", "state_0_right"]
    answer = run_query(spark, pairs, "SELECT count(*) AS n FROM state_0_left", limit=10)
    assert answer.rows == ['{"n":3}']
    counter = state_views(spark, str(reached / "counter"), 0)
    assert [view.name for view in counter] == ["state_0_count"]
    answer = run_query(spark, counter, "SELECT sum(value.n) AS n FROM state_0_count", limit=10)
    assert answer.rows == ['{"n":3}']


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT * FROM parquet.`/etc/passwd`", "reads more than the state"),
        ("SELECT (SELECT max(value) FROM text.`/etc/passwd`)", "reads more than the state"),
        (
            "SELECT * FROM state_0 WHERE key.word IN (SELECT value FROM text.`/etc`)",
            "reads more than the state",
        ),
        ("WITH a AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM a", "reads more than the state"),
        ("SELECT * FROM IDENTIFIER('text.`/etc/passwd`')", "reads more than the state"),
        ("SELECT IDENTIFIER('key') FROM state_0", "reads more than the state"),
        ("SELECT TRANSFORM(key.word) USING 'cat' FROM state_0", "would start a program"),
        ("SELECT reflect('java.lang.System', 'exit', '1')", "reads more than the state"),
        ("SELECT 1 LIMIT java_method('java.lang.Integer', 'parseInt', '1')", "reads more than the state"),
        ("SELECT * FROM python_worker_logs()", "reads more than the state"),
        ("SELECT * FROM `/etc/passwd`", "cannot be analyzed"),
        ("SELECT * FROM spark_catalog.default.orders", "reads more than the state"),
        ("SELECT nothing FROM state_0", r"The views are state_0 \(key struct"),
        ("SELECT 1; SELECT 2", "not a single SELECT"),
        ("DROP VIEW state_0", "not a single SELECT"),
        ("INSERT INTO state_0 SELECT * FROM state_0", "not a single SELECT"),
        ("CREATE TABLE t AS SELECT 1", "not a single SELECT"),
        ("SET spark.sql.runSQLOnFiles=true", "not a single SELECT"),
        ("", "not a single SELECT"),
    ],
)
def test_a_query_that_does_more_is_refused(
    spark: SparkSession, sums: list[StateView], query: str, sentence: str
) -> None:
    with pytest.raises(PreflightError, match=sentence) as caught:
        run_query(spark, sums, query, limit=10)
    assert "\n" not in str(caught.value)
    assert "SQLSTATE" not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "FROM state_0 |> SELECT key.word",
        "WITH a AS (SELECT * FROM state_0) SELECT count(*) FROM a",
        "TABLE state_0",
    ],
)
def test_every_form_of_a_query_is_welcome(spark: SparkSession, sums: list[StateView], query: str) -> None:
    assert run_query(spark, sums, query, limit=10).rows


def test_fields_of_equal_names_can_be_queried(spark: SparkSession, reached: Path) -> None:
    twice = state_views(spark, str(reached / "twice"), 0)
    assert twice[0].columns.startswith("key struct<word:string>, value struct<count:bigint,count_2:bigint>")
    query = "SELECT key.word, value.count, value.count_2 FROM state_0 ORDER BY 1"
    answer = run_query(spark, twice, query, limit=10)
    assert answer.rows == ['{"word":"a","count":2,"count_2":2}', '{"word":"b","count":1,"count_2":0}']
    whole = run_query(spark, twice, "SELECT value.* FROM state_0 WHERE key.word = 'b'", limit=10)
    assert (list(whole.columns), whole.rows) == (["count", "count_2"], ['{"count":1,"count_2":0}'])


def test_columns_of_an_answer_get_names_of_their_own(spark: SparkSession, sums: list[StateView]) -> None:
    query = "SELECT value.count, key.word, 10 * value.count AS Count FROM state_0 ORDER BY 1"
    answer = run_query(spark, sums, query, limit=10)
    assert list(answer.columns) == ["count", "word", "Count_2"]
    assert answer.rows[0] == '{"count":1,"word":"b","Count_2":10}'


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_command_lists_the_views_without_a_query(left: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "milepost", "state", str(left / "twice"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "value struct<count:bigint,count_2:bigint>" in result.stdout
