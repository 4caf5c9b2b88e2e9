"""Late records: each that an operator drops is counted once, by source, wherever somebody looks."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, Sent

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.config import Config
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus
from milepost.rest.milepost import extensions
from milepost.rest.view.job_view import JobView
from milepost.rest.view.stored_view import StoredJob
from milepost.transform import Transformation

SCHEMA = "id STRING, at TIMESTAMP, kind STRING"
EPOCH = 1_700_000_000
LATE = 500
WATERMARK = {"strategy": "periodic", "column": "at", "delay": "5s"}
WINDOWS = """
    SELECT CAST(window(at, '10 seconds').start AS STRING) AS id, CAST(count(*) AS STRING) AS v
    FROM {source} WHERE kind = 'data' GROUP BY window(at, '10 seconds')"""


def record(second: float, kind: str = "data", key: str = "x") -> Sent:
    at = datetime.fromtimestamp(EPOCH + second, timezone.utc).isoformat()
    return Sent(json.dumps({"id": key, "at": at, "kind": kind}).encode(), b"k")


def late(count: int = LATE) -> list[Sent]:
    return [record(n % 10, key=f"late-{n}") for n in range(count)]


def job(lab: Lab, topic: str, **changes: Any) -> Config:
    parts: dict[str, Any] = {"sql": WINDOWS.format(source="source"), "stop": "latest"} | changes
    return lab.config(
        topic,
        lab.table(),
        sql=parts["sql"],
        source={
            "format": "json",
            "schema": SCHEMA,
            "watermark": parts.get("watermark", WATERMARK),
            "stop": parts["stop"],
            "max-offsets-per-trigger": parts.get("per_batch"),
        },
        sink={"columns": {"d": ["v"]}, "version": "checkpoint"},
        restart=parts.get("restart"),
    )


def two_sources(lab: Lab, first: str, second: str) -> Config:
    document = lab.document(
        first,
        lab.table(),
        sql=WINDOWS.format(source="(SELECT at, kind FROM a UNION ALL SELECT at, kind FROM b)"),
        sink={"columns": {"d": ["v"]}, "version": "checkpoint"},
    )
    kafka = document.pop("source")["kafka"] | {"format": "json", "schema": SCHEMA, "watermark": WATERMARK}
    document["sources"] = {"a": {"kafka": kafka}, "b": {"kafka": kafka | {"topics": [second]}}}
    return Config(**document)


def newest(config: Config) -> CompletedCheckpoint:
    found = CheckpointFiles(LocalStore(Path(config.checkpointing.dir))).newest()
    assert found is not None
    return found


def total(config: Config) -> dict[str, int]:
    return dict(newest(config).late_total)


def advanced(lab: Lab, config: Config, *records: Sent, transformation: Transformation | None = None) -> str:
    """Bring the watermark to second 95, and send what comes after it."""
    topics = next(iter(config.views.values())).topics
    assert topics is not None
    lab.produce(topics[0], record(0), record(100))
    lab.finish(config, transformation)
    lab.produce(topics[0], *records)
    return topics[0]


def test_each_late_reading_counts_once_everywhere(lab: Lab):
    config = job(lab, lab.topic())
    topic = advanced(lab, config, *late(), record(101))
    running = lab.start(config)
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    assert running.progress().late == {topic: LATE}
    assert extensions.progress_body(JobView(running, config))["late"] == {"source": LATE}
    assert total(config) == {topic: LATE}
    stored = StoredJob(Store.at(config.checkpointing.dir))
    assert stored.latest_progress.late == {topic: LATE}
    again = lab.start(config)
    assert again.wait() is JobStatus.FINISHED
    assert extensions.progress_body(JobView(again, config))["late"] == {"source": LATE}, (
        "a resumed job still knows them"
    )
    lab.produce(topic, *late(7))
    assert lab.finish(config).late == {topic: LATE + 7}


def test_two_sources_are_told_apart(lab: Lab):
    first, second = lab.topic(record(0), record(100)), lab.topic(record(0), record(100))
    config = two_sources(lab, first, second)
    lab.finish(config)
    lab.produce(first, *late())
    lab.produce(second, *late(20), record(99))
    assert lab.finish(config).late == {first: LATE, second: 20}


class DeclineOnce:
    """A participant that declines the snapshot of that number."""

    name = "declining"

    def __init__(self, number: int) -> None:
        self._left = number

    def snapshot_state(self, context: Any) -> None:
        self._left -= 1
        if self._left == 0:
            raise RuntimeError("declined")


def test_a_batch_that_runs_again_counts_its_late_records_once(lab: Lab):
    restart = {"strategy": "fixed-delay", "attempts": 1, "delay": "10ms"}
    config = job(lab, lab.topic(), restart=restart)
    topic = advanced(lab, config, *late())
    running = lab.start(
        config, participants=[DeclineOnce(1)], options=StartOptions(allow_non_restored_state=True)
    )
    assert running.wait() is JobStatus.FINISHED, str(running.error)
    assert running.restarts == 1
    assert total(config) == {topic: LATE}


def deduplicated(rows: DataFrame) -> DataFrame:
    return rows.dropDuplicates(["id", "at"]).select("id", F.col("kind").alias("v"))


def sliding(rows: DataFrame) -> DataFrame:
    counted = rows.groupBy(F.window("at", "10 seconds", "5 seconds")).agg(F.count("*").alias("n"))
    return counted.select(
        F.col("window.start").cast("string").alias("id"), F.col("n").cast("string").alias("v")
    )


def joined(rows: DataFrame) -> DataFrame:
    left = rows.filter("kind = 'data'").alias("l")
    right = rows.filter("kind = 'other'").alias("r")
    near = F.expr("l.id = r.id AND r.at BETWEEN l.at AND l.at + INTERVAL 1 MINUTE")
    return left.join(right, near).select(F.col("l.id").alias("id"), F.col("r.kind").alias("v"))


def dropped_by_spark(config: Config) -> int:
    acks = [ack for ack in newest(config).acknowledgements if ack.participant.startswith("state/")]
    return sum(ack.details["rows-dropped-by-watermark"] for ack in acks)


@pytest.mark.parametrize(
    "transformation", [deduplicated, joined], ids=["deduplication", "join of a stream with itself"]
)
def test_operators_without_sums_drop_what_spark_says(lab: Lab, transformation: Transformation):
    config = job(lab, lab.topic(), sql=None)
    # At the watermark exactly is late, a moment after it is not.
    topic = advanced(
        lab, config, *late(30), record(95), record(95.001), record(97), transformation=transformation
    )
    lab.finish(config, transformation)
    assert dict(newest(config).late) == {topic: 31}
    assert dropped_by_spark(config) == 31


def test_a_record_in_several_windows_is_late_when_the_last_of_them_is_closed(lab: Lab):
    config = job(lab, lab.topic(), sql=None)
    # Watermark 95: second 89 is in [80, 90) and [85, 95), second 92 in [85, 95) and [90, 100).
    topic = advanced(lab, config, record(89), record(92), record(93), transformation=sliding)
    lab.finish(config, sliding)
    assert total(config) == {topic: 1}


def test_a_record_that_a_filter_takes_out_is_not_late(lab: Lab):
    config = job(lab, lab.topic())
    topic = advanced(lab, config, *late(3), *[record(1, kind="noise")] * 9)
    lab.finish(config)
    assert total(config) == {topic: 3}


def test_a_with_clause_and_a_narrow_selection_keep_the_count(lab: Lab):
    sql = "WITH narrow AS (SELECT at, kind FROM source) " + WINDOWS.format(source="narrow")
    config = job(lab, lab.topic(), sql=sql)
    topic = advanced(lab, config, *late(3))
    lab.finish(config)
    assert total(config) == {topic: 3}


def test_nothing_is_late_for_a_job_without_state(lab: Lab):
    config = job(lab, lab.topic(), sql="SELECT id, kind AS v FROM source")
    advanced(lab, config, *late(3))
    lab.finish(config)
    assert total(config) == {}


def test_a_kill_between_commit_and_manifest_loses_no_count(lab: Lab, tmp_path: Path):
    config = job(lab, lab.topic())
    topic = advanced(lab, config, *late())
    document = {
        **config.redacted(),
        "rest": {"bind": "127.0.0.1:0"},
        "spark": {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 2}},
    }
    file = write_pipeline(tmp_path, document)
    with Driver(file, "8-complete-before@1=kill") as driver:
        assert driver.end() != 0
    assert lab.finish(config).late == {topic: LATE}
    assert total(config) == {topic: LATE}
