"""Watermarks: what each strategy lets advance, seen in Spark's commit log and in what is late in the table."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import PATIENCE_S, Lab, Sent, visible

from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus

SCHEMA = "id STRING, at TIMESTAMP, kind STRING"
EPOCH = 1_700_000_000
WINDOWS = f"""
    SELECT CAST(unix_timestamp(window(at, '10 seconds').start) - {EPOCH} AS STRING) AS id, CAST(count(*) AS STRING) AS v
    FROM source WHERE kind = 'data' GROUP BY window(at, '10 seconds')"""


def record(second: int | None, partition: int = 0, kind: str = "data") -> Sent:
    moment = None if second is None else datetime.fromtimestamp(EPOCH + second, timezone.utc)
    at = None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Sent(json.dumps({"id": "x", "at": at, "kind": kind}).encode(), b"k", partition)


def job(
    lab: Lab,
    topic: str,
    watermark: dict[str, Any],
    sql: str | None = WINDOWS,
    *,
    stop: str = "latest",
    interval: str = "0s",
) -> Config:
    given = {"column": "at", **watermark}
    return lab.config(
        topic,
        lab.table(),
        sql=sql,
        source={"format": "json", "schema": SCHEMA, "watermark": given, "stop": stop},
        sink={"columns": {"d": ["v"]}, "version": "checkpoint"},
        checkpointing={"interval": interval, "timeout": "2h"},
    )


def watermark_of(config: Config) -> int:
    """Return the watermark of the newest commit, in seconds after the tests' epoch."""
    commits = Path(config.checkpointing.dir) / "commits"
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    metadata = json.loads((commits / str(newest)).read_text().splitlines()[1])
    return round(metadata["nextBatchWatermarkMs"] / 1000) - EPOCH


def windows(lab: Lab, config: Config) -> dict[int, int]:
    return {int(row): int(columns[b"v"]) for row, columns in visible(lab.cells(config)).items()}


PERIODIC = {"strategy": "periodic", "delay": "5s"}
PER_PARTITION = {"strategy": "per-partition", "delay": "5s"}
PUNCTUATED = {"strategy": "punctuated", "when": "kind = 'marker'"}


def test_periodic_stays_behind_the_newest_record(lab: Lab):
    topic = lab.topic(record(0), record(100), record(40))
    config = job(lab, topic, PERIODIC)
    lab.finish(config)
    assert watermark_of(config) == 95
    lab.produce(topic, record(7), record(98))
    lab.finish(config)
    assert windows(lab, config) == {0: 1, 40: 1, 90: 1, 100: 1}, "the window of second 7 is closed"


def test_a_filter_of_the_transformation_does_not_hold_time_back(lab: Lab):
    topic = lab.topic(record(0), record(100, kind="noise"))
    config = job(lab, topic, PERIODIC)
    lab.finish(config)
    assert watermark_of(config) == 95


def test_a_record_without_a_time_moves_nothing(lab: Lab):
    topic = lab.topic(record(None), record(50), record(None))
    config = job(lab, topic, PERIODIC)
    lab.finish(config)
    assert watermark_of(config) == 45


def test_punctuated_advances_at_the_markers_only(lab: Lab):
    topic = lab.topic(record(0), record(100))
    config = job(lab, topic, PUNCTUATED)
    lab.finish(config)
    assert watermark_of(config) == -EPOCH, "no record has carried a watermark"
    # The marker is no row of the result, and still counts.
    lab.produce(topic, record(30, kind="marker"), record(200))
    lab.finish(config)
    assert watermark_of(config) == 30
    lab.produce(topic, record(20), record(31))
    lab.finish(config)
    assert windows(lab, config) == {0: 1, 30: 1, 100: 1, 200: 1}, "second 20 came after the marker"


@pytest.mark.parametrize(("strategy", "reached", "counted"), [(PERIODIC, 95, 1), (PER_PARTITION, 15, 2)])
def test_the_slow_partition(lab: Lab, strategy: dict[str, Any], reached: int, counted: int):
    """Per partition, time is that of the slower one; otherwise the faster one closes its windows."""
    topic = lab.topic(record(0), record(100), record(20, 1), partitions=2)
    config = job(lab, topic, strategy)
    lab.finish(config)
    assert watermark_of(config) == reached
    lab.produce(topic, record(21, 1), record(101))
    lab.finish(config)
    assert windows(lab, config)[20] == counted


def test_a_partition_without_a_record_holds_time_back_until_it_has_one(lab: Lab):
    topic = lab.topic(record(0), record(100), partitions=3)
    config = job(lab, topic, PER_PARTITION)
    lab.finish(config)
    assert watermark_of(config) == -EPOCH
    lab.produce(topic, record(60, 1), record(70, 2), record(110))
    lab.finish(config)
    assert watermark_of(config) == 55


def test_after_a_restart_time_waits_for_every_partition_again_and_never_goes_back(lab: Lab):
    topic = lab.topic(record(100), record(50, 1), partitions=2)
    config = job(lab, topic, PER_PARTITION)
    lab.finish(config)
    assert watermark_of(config) == 45
    lab.produce(topic, record(200))
    lab.finish(config)
    assert watermark_of(config) == 45, "who knows how far partition 1 is"
    lab.produce(topic, record(80, 1), record(201))
    lab.finish(config)
    assert watermark_of(config) == 75


def test_two_stateful_operators_go_with_a_watermark_per_partition(lab: Lab):
    topic = lab.topic(record(0), record(0), record(100), record(100, 1), partitions=2)
    config = job(lab, topic, PER_PARTITION, sql=None)

    def unique(rows: DataFrame) -> DataFrame:
        once = rows.dropDuplicates(["id", "at"])
        counted = once.groupBy(F.window("at", "10 seconds")).agg(F.count("*").cast("string").alias("v"))
        return counted.select((F.unix_timestamp("window.start") - EPOCH).cast("string").alias("id"), "v")

    lab.finish(config, unique)
    lab.produce(topic, record(110), record(110, 1))
    lab.finish(config, unique)
    assert watermark_of(config) == 105
    assert windows(lab, config) == {0: 1, 100: 1, 110: 1}


def test_spark_may_go_on_by_itself_when_the_watermark_has_moved(lab: Lab):
    """A batch without new records passes a gate that nobody opened: it is a checkpoint like any other."""
    topic = lab.topic(record(0), record(100))
    config = job(lab, topic, PERIODIC, stop="never", interval="1h")
    running = lab.start(config)
    second, deadline = Path(config.checkpointing.dir) / "commits" / "1", time.monotonic() + PATIENCE_S

    def look(_: Progress) -> None:
        if second.is_file() or time.monotonic() > deadline:
            running.cancel()

    assert running.wait(look) is JobStatus.CANCELED, str(running.error)
    offsets = [path.read_text().splitlines()[-1] for path in (second.parents[1] / "offsets").glob("[01]")]
    assert offsets[0] == offsets[1], "no record is in the second batch"
    assert watermark_of(config) == 95


def test_two_sources_have_a_watermark_each_and_the_lower_one_counts(lab: Lab):
    first, second = lab.topic(record(100), record(0)), lab.topic(record(50), record(1))
    document = lab.document(
        first,
        lab.table(),
        sql=WINDOWS.replace("FROM source", "FROM (SELECT * FROM a UNION ALL SELECT * FROM b)"),
        sink={"columns": {"d": ["v"]}, "version": "checkpoint"},
    )
    kafka = document.pop("source")["kafka"] | {"format": "json", "schema": SCHEMA}
    document["sources"] = {
        "a": {"kafka": kafka | {"watermark": {"column": "at", **PERIODIC}}},
        "b": {"kafka": kafka | {"topics": [second], "watermark": {"column": "at", **PER_PARTITION}}},
    }
    config = Config(**document)
    lab.finish(config)
    assert watermark_of(config) == 45
    assert windows(lab, config) == {0: 2, 50: 1, 100: 1}


def test_a_second_watermark_in_the_transformation_is_refused(lab: Lab):
    config = job(lab, lab.topic(), PERIODIC, sql=None)
    with pytest.raises(PreflightError, match="defines a watermark") as caught:
        lab.start(config, lambda rows: rows.withWatermark("at", "1 hour").select("id", F.lit("x").alias("v")))
    assert "source.kafka.watermark" in caught.value.fix


REFUSED = [
    ({**PERIODIC, "column": "nope"}, "names 'nope', which the records do not have"),
    ({**PERIODIC, "column": "id"}, "names 'id', which is string"),
    ({**PUNCTUATED, "when": "nope = 1"}, "when cannot be analyzed"),
    ({**PUNCTUATED, "when": "kind"}, "is string, not BOOLEAN"),
    ({**PUNCTUATED, "when": "((("}, "when cannot be analyzed"),
]


@pytest.mark.parametrize(("watermark", "sentence"), REFUSED)
def test_refused_before_anything_starts(lab: Lab, watermark: dict[str, Any], sentence: str):
    config = job(lab, lab.topic(), watermark)
    with pytest.raises(PreflightError, match=sentence) as caught:
        lab.start(config)
    assert "source.kafka.watermark" in caught.value.what
