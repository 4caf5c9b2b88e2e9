"""Several sources: each has a view and offsets of its own, one boundary cuts them together, a restart continues all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from tests.system.lab import PATIENCE_S, Lab, Sent, visible

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.monitoring.progress import Progress
from milepost.job.prepare import prepare_job
from milepost.job.spec import JobSpec
from milepost.job.status import JobStatus

SCHEMA = "id STRING, v STRING"
UNION = "SELECT id, v FROM first UNION ALL SELECT id, upper(v) AS v FROM second"


def record(key: str, value: str, partition: int = 0) -> Sent:
    return Sent(json.dumps({"id": key, "v": value}).encode(), key.encode(), partition)


def job(lab: Lab, first: str, second: str, table: str, sql: str | None, **changes: Any) -> Config:
    document = lab.document(first, table, sql=sql, sink=changes.pop("sink", {}), **changes)
    kafka = document.pop("source")["kafka"] | {"format": "json", "schema": SCHEMA}
    document["sources"] = {
        "first": {"kafka": kafka | {"topics": [first]}},
        "second": {"kafka": kafka | {"topics": [second]}},
    }
    document["sink"]["hbase"] = {"columns": {"d": ["v"]}, "version": "timestamp"} | document["sink"]["hbase"]
    return Config(**document)


def table(lab: Lab, config: Config) -> dict[str, str]:
    return {row.decode(): columns[b"v"].decode() for row, columns in visible(lab.cells(config)).items()}


def positions(config: Config) -> tuple[Any, ...]:
    completed = newest_completed(LocalStore(Path(config.checkpointing.dir)))
    assert completed is not None
    return completed.sources


def test_a_union_of_two_topics_in_one_table(lab: Lab):
    first = lab.topic(record("a", "x"), record("b", "y"), prefix="first")
    second = lab.topic(record("c", "z"), prefix="second")
    config = job(lab, first, second, lab.table(), UNION)
    assert lab.finish(config).rows == 3
    assert table(lab, config) == {"a": "x", "b": "y", "c": "Z"}


def test_offsets_as_versions_where_the_topic_is_in_the_row_key(lab: Lab):
    first = lab.topic(record("a", "x"), record("a", "y"), prefix="first")
    second = lab.topic(record("a", "z"), prefix="second")
    sink = {"row-key": ["_kafka.topic", "id"], "version": "offset"}
    config = job(lab, first, second, lab.table(), UNION, sink=sink)
    lab.finish(config)
    assert sorted(columns[b"v"] for columns in visible(lab.cells(config)).values()) == [b"Z", b"y"]


def test_both_sources_go_on_after_a_stop(lab: Lab):
    first = lab.topic(record("a", "1"), prefix="first")
    second = lab.topic(record("b", "1"), prefix="second", partitions=2)
    # The order of the plan is not that of the file.
    sql = "SELECT id, v FROM second UNION ALL SELECT id, v FROM first"
    config = job(lab, first, second, lab.table(), sql)
    assert lab.finish(config).rows == 2
    assert [list(source) for source in positions(config)] == [[second], [first]]
    lab.produce(first, record("a", "2"), record("c", "2"))
    lab.produce(second, record("d", "2", partition=1))
    assert lab.finish(config).rows == 3, "what was read before is not read again"
    assert table(lab, config) == {"a": "2", "b": "1", "c": "2", "d": "2"}
    assert positions(config) == ({second: {0: 1, 1: 1}}, {first: {0: 3}})


def test_the_plan_says_where_each_source_begins(lab: Lab):
    first, second = lab.topic(record("a", "1"), prefix="first"), lab.topic(prefix="second")
    config = job(lab, first, second, lab.table(), UNION)
    spec = JobSpec(spark=lab.spark, config=config, folder=lab.root, log=lab.root / "driver.log")
    prepared = prepare_job(spec)
    assert {view: start.offsets() for view, start in prepared.plan.starts.items()} == {
        "first": {first: {0: 0}},
        "second": {second: {0: 0}},
    }
    assert prepared.query.order == ("first", "second")
    assert prepared.end_offsets() == {first: {0: 1}, second: {0: 0}}


def test_another_order_than_the_checkpoint_is_refused(lab: Lab):
    first = lab.topic(record("a", "1"), prefix="first")
    second = lab.topic(record("b", "1"), prefix="second")
    name = lab.table()
    config = job(lab, first, second, name, UNION)
    lab.finish(config)
    turned = "SELECT id, v FROM second UNION ALL SELECT id, v FROM first"
    again = job(lab, first, second, name, turned, checkpointing={"dir": config.checkpointing.dir})
    with pytest.raises(PreflightError, match="in a different order") as caught:
        lab.start(again)
    assert "it now reads second, first; the checkpoint has first, second" in caught.value.why


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [("SELECT id, v FROM first", "does not read second"), (None, "transform is required")],
)
def test_a_source_that_leads_nowhere_is_refused(lab: Lab, sql: str | None, sentence: str):
    config = job(lab, lab.topic(prefix="first"), lab.topic(prefix="second"), lab.table(), sql)
    with pytest.raises(PreflightError, match=sentence):
        lab.start(config)


def test_a_fault_of_one_source_names_its_keys(lab: Lab):
    config = job(lab, lab.topic(prefix="first"), "no-such-topic", lab.table(), UNION)
    with pytest.raises(PreflightError, match="no-such-topic") as caught:
        lab.start(config)
    assert "sources.second.kafka.topics" in caught.value.fix


def test_a_join_of_two_streams_by_a_function_of_both(lab: Lab):
    first = lab.topic(record("a", "order"), record("b", "order"), prefix="first")
    second = lab.topic(record("a", "paid"), prefix="second")
    config = job(lab, first, second, lab.table(), None, sink={"version": "checkpoint"})

    def joined(second: DataFrame, first: DataFrame) -> DataFrame:
        return first.select("id").join(second, "id").select("id", "v")

    lab.finish(config, joined)
    assert table(lab, config) == {"a": "paid"}
    lab.produce(second, record("b", "late"))
    lab.finish(config, joined)
    assert table(lab, config) == {"a": "paid", "b": "late"}, "the other side is in the checkpoint's state"


def test_an_aggregation_over_two_topics_counts_each_record_once(lab: Lab):
    first = lab.topic(record("a", "x"), record("b", "x"), prefix="first")
    second = lab.topic(record("a", "y"), prefix="second")
    sql = f"SELECT id, CAST(count(*) AS STRING) AS v FROM ({UNION}) GROUP BY id"
    config = job(lab, first, second, lab.table(), sql, sink={"version": "checkpoint"})
    lab.finish(config)
    assert table(lab, config) == {"a": "2", "b": "1"}
    lab.produce(second, record("a", "z"), record("b", "z"))
    lab.finish(config)
    assert table(lab, config) == {"a": "3", "b": "2"}


def test_a_view_that_is_used_twice(lab: Lab):
    first = lab.topic(record("a", "x"), record("b", "y"), prefix="first")
    second = lab.topic(record("c", "z"), prefix="second")
    sql = f"{UNION} UNION ALL SELECT concat(id, '2') AS id, v FROM first"
    config = job(lab, first, second, lab.table(), sql)
    lab.finish(config)
    lab.produce(first, record("d", "w"))
    lab.finish(config)
    assert table(lab, config) == {"a": "x", "b": "y", "c": "Z", "d": "w", "a2": "x", "b2": "y", "d2": "w"}


def test_an_unbounded_job_reads_both_while_it_runs(lab: Lab):
    first, second = lab.topic(prefix="first"), lab.topic(prefix="second")
    config = job(lab, first, second, lab.table(), UNION, source={"stop": "never"})
    running = lab.start(config)
    lab.produce(first, record("a", "x"))
    lab.produce(second, record("b", "y"))
    deadline = time.monotonic() + PATIENCE_S

    def look(progress: Progress) -> None:
        if progress.position == {first: {0: 1}, second: {0: 1}} or time.monotonic() > deadline:
            running.cancel()

    assert running.wait(look) is JobStatus.CANCELED
    assert table(lab, config) == {"a": "x", "b": "Y"}
