"""Transformations and both execution modes against real services: what is written, how it stops, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent, no_trace, visible, wait_until

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.config import Config
from milepost.errors import ConfigError, PreflightError
from milepost.job.status import JobStatus
from milepost.pipeline import inspect

SCHEMA = "id STRING, n INT"


def records(*numbers: int, partition: int = 0) -> list[Sent]:
    return [
        Sent(json.dumps({"id": f"k{number}", "n": number}).encode(), b"k", partition) for number in numbers
    ]


def job(
    lab: Lab,
    topic: str,
    table: str,
    sql: str | None = None,
    sink: dict[str, Any] | None = None,
    **source: Any,
) -> Config:
    return lab.config(
        topic,
        table,
        source={"format": "json", "schema": SCHEMA} | source,
        sink={"columns": {"d": ["n"]}, "encoding": "string"} | (sink or {}),
        sql=sql,
    )


# ---- transformations ----


def test_sql_filters_and_renames_and_keeps_each_record_as_version(lab: Lab) -> None:
    topic = lab.topic(*records(1, 2, 3, 4))
    query = "SELECT concat(id, '!') AS id, n * 10 AS n FROM source WHERE n % 2 = 0"
    config = job(lab, topic, lab.table("d"), query)
    assert lab.finish(config).rows == 2
    assert [(cell[0], cell[3], cell[5]) for cell in lab.cells(config)] == [
        (b"k2!", 1, b"20"),
        (b"k4!", 3, b"40"),
    ]


def test_a_python_function_with_a_python_udf(lab: Lab) -> None:
    def double(rows: DataFrame) -> DataFrame:
        twice = F.udf(lambda number: number * 2, "int")
        return rows.withColumn("n", twice("n"))

    config = job(lab, lab.topic(*records(1, 2)), lab.table("d"))
    lab.finish(config, double)
    assert visible(lab.cells(config)) == {b"k1": {b"n": b"2"}, b"k2": {b"n": b"4"}}


def test_a_python_udf_that_raises_fails_the_job_with_its_own_traceback(lab: Lab) -> None:
    def broken(rows: DataFrame) -> DataFrame:
        return rows.withColumn("n", F.udf(lambda number: number // (number - 2), "int")("n"))

    config = job(lab, lab.topic(*records(1, 2)), lab.table("d"))
    run = lab.run_bounded(config, broken)
    assert run.status is JobStatus.FAILED
    assert "ZeroDivisionError" in str(run.error)
    assert "\tat " not in str(run.error)
    assert run.progress.checkpoint_id is None


def test_an_aggregate_is_written_with_the_checkpoint_as_version(lab: Lab) -> None:
    topic = lab.topic(*(Sent(b'{"id": "total", "n": %d}' % n) for n in (1, 2, 3, 4)))
    query = "SELECT id, sum(n) AS n FROM source GROUP BY id"
    config = job(
        lab, topic, lab.table("d"), query, {"version": "checkpoint"}, **{"max-offsets-per-trigger": 2}
    )
    progress = lab.finish(config)
    assert progress.checkpoint_id == 1
    cells = sorted(lab.cells(config), key=lambda cell: cell[3])
    assert cells[-1][3:] == (1, "Put", b"10")
    assert visible(cells) == {b"total": {b"n": b"10"}}


MISTAKES = {
    "a misspelled word": ("SELEC id FROM source", "transform.sql cannot be analyzed"),
    "an unknown column": ("SELECT nope AS id FROM source", "nope"),
    "an unknown view": ("SELECT id, n FROM sauce", "sauce"),
    "an aggregate without a version": ("SELECT id, count(*) AS n FROM source GROUP BY id", "version"),
    "no stream at all": ("SELECT 'a' AS id, 1 AS n", "does not read the source"),
    "a column left out": ("SELECT id FROM source", "'n'"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_in_sql_is_refused(
    lab: Lab, kind: str, quiet: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    query, sentence = MISTAKES[kind]
    with pytest.raises(PreflightError) as raised:
        lab.start(job(lab, *quiet, query))
    assert sentence in str(raised.value)
    assert raised.value.fix
    assert no_trace(str(raised.value))
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def quiet(lab: Lab) -> tuple[str, str]:
    """A topic and a table that nothing is ever written to."""
    return lab.topic(*records(1)), lab.table("d")


FUNCTIONS = {
    "returns nothing": (lambda rows: None, "returned NoneType, not a DataFrame"),
    "raises": (lambda rows: 1 / 0, "raised ZeroDivisionError"),
    "ends the process": (lambda rows: exit(3), "raised SystemExit"),
    "names an unknown column": (lambda rows: rows.select("nope"), "nope"),
    "sorts a stream": (lambda rows: rows.orderBy("n"), "cannot run on a stream"),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_that_gives_no_stream_is_refused(
    lab: Lab, kind: str, quiet: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    function, sentence = FUNCTIONS[kind]
    with pytest.raises(PreflightError) as raised:
        lab.start(job(lab, *quiet), function)
    assert sentence in str(raised.value)
    assert capfd.readouterr() == ("", "")


# ---- real-time ----


def real_time(lab: Lab, topic: str, table: str, directory: str) -> Config:
    return lab.config(
        topic,
        table,
        source={"format": "json", "schema": SCHEMA, "stop": "never", "bad-records": "skip"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": directory, "execution": "real-time", "interval": "1s"},
    )


def test_real_time_writes_stops_at_a_boundary_and_resumes_as_micro_batch(lab: Lab) -> None:
    topic = lab.topic(*records(0, 1), *records(2, partition=1), Sent(b"bad"), partitions=2)
    table, directory = lab.table("d"), str(lab.folder("checkpoint"))
    config = real_time(lab, topic, table, directory)
    running = lab.start(config)
    wait_until(lambda: lab.hbase.count(table) == 3, "the backlog is in the table")
    lab.produce(topic, *records(10, 11, partition=1))
    wait_until(lambda: lab.hbase.count(table) == 5, "new records are in the table")
    running.cancel()
    assert running.wait() is JobStatus.CANCELED
    progress = running.progress()
    assert progress.rejected == {"MALFORMED": 1}
    assert progress.rows == 5
    assert progress.position == {topic: {0: 3, 1: 3}}
    lab.produce(topic, *records(20))
    again = job(lab, topic, table).model_copy(
        update={"checkpointing": config.checkpointing.model_copy(update={"execution": "micro-batch"})}
    )
    assert lab.finish(again).rows == 1
    found = {(cell[0], cell[3]) for cell in lab.cells(config)}
    assert found == {(b"k0", 0), (b"k1", 1), (b"k2", 0), (b"k10", 1), (b"k11", 2), (b"k20", 3)}


def test_real_time_with_too_few_cores_is_refused(lab: Lab) -> None:
    topic = lab.topic(partitions=5)
    config = real_time(lab, topic, lab.table("d"), str(lab.folder("checkpoint")))
    with pytest.raises(
        PreflightError, match="a core for each of the 5 partitions, but Spark has 4"
    ) as raised:
        inspect(lab.spark, config, None)
    assert "local[5]" in raised.value.fix


def test_real_time_with_checkpoint_versions_is_refused(lab: Lab) -> None:
    with pytest.raises(ConfigError, match="checkpoint cannot be used in real-time"):
        lab.config(
            "t",
            "t",
            source={"stop": "never"},
            sink={"row-key": ["key"], "columns": {"d": ["value"]}, "version": "checkpoint"},
            checkpointing={"execution": "real-time", "interval": "1s"},
        )


# ---- micro-batch at a pace ----


def test_checkpoints_follow_the_interval_and_a_stop_is_a_boundary(lab: Lab) -> None:
    topic = lab.topic(*records(1))
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": SCHEMA, "stop": "never"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"interval": "300ms"},
    )
    running = lab.start(config)
    for number in (2, 3):
        wait_until(
            lambda at=number - 1: running.progress().position.get(topic) == {0: at},  # type: ignore[misc]
            "the record is part of a completed checkpoint",
        )
        lab.produce(topic, *records(number))
    wait_until(lambda: running.progress().position.get(topic) == {0: 3}, "the last record is completed")
    running.cancel()
    assert running.wait() is JobStatus.CANCELED
    completed = [each for each in running.checkpoints.stats.history if isinstance(each, CompletedCheckpoint)]
    ends = [each.sources[0].get(topic, {}).get(0, 0) for each in completed]
    assert ends == sorted(ends)
    assert ends[-1] == 3
    assert [each.checkpoint_id for each in completed] == list(range(len(completed)))
    assert len(lab.cells(config)) == 3
