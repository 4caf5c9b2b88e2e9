"""Versions of cells: what would break them is refused or told before the start; a fresh start goes above them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.system.lab import Lab, Sent, numbered, visible, wait_until

from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.errors import PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spec import StartOptions
from milepost.verify import verify_pipeline

FRESH = StartOptions(fresh=True)


def table_that_hides_by_arrival(lab: Lab) -> str:
    hbase, name = lab.hbase.jvm.org.apache.hadoop.hbase, lab.name("arrival")
    family = hbase.client.ColumnFamilyDescriptorBuilder.newBuilder(b"d").setNewVersionBehavior(True).build()
    builder = hbase.client.TableDescriptorBuilder.newBuilder(hbase.TableName.valueOf(name))
    lab.hbase.connection.getAdmin().createTable(builder.setColumnFamily(family).build())
    return name


def test_a_table_whose_deletes_hide_by_arrival_is_refused(lab: Lab) -> None:
    config = lab.numbers(lab.topic(*numbered(1)), table=table_that_hides_by_arrival(lab))
    with pytest.raises(PreflightError, match="'d' has NEW_VERSION_BEHAVIOR"):
        prepare_job(lab.spec(config))


def test_timestamps_that_producers_set_are_told(lab: Lab) -> None:
    told = {}
    for kind in ("CreateTime", "LogAppendTime"):
        topic = lab.topic(*numbered(1), message_timestamp_type=kind)
        plan = prepare_job(lab.spec(lab.numbers(topic, sink={"version": "timestamp"}))).plan
        told[kind] = any(f"topic {topic!r} are set by producers" in each for each in plan.warnings)
    assert told == {"CreateTime": True, "LogAppendTime": False}


def test_a_topic_that_was_created_again_is_read_into_the_same_table(lab: Lab) -> None:
    topic = lab.topic(*numbered(40))
    config = lab.numbers(topic)
    lab.finish(config)
    admin = AdminClient(lab.kafka)
    admin.delete_topics([topic])[topic].result(timeout=30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone")
    lab.create_topic(topic)
    lab.produce(topic, *(Sent(json.dumps({"id": f"k{n}", "n": 100 + n}).encode(), b"k") for n in range(40)))
    with pytest.raises(PreflightError, match="TOPIC_RECREATED"):
        prepare_job(lab.spec(config))
    lab.finish(config, options=FRESH)
    known = versions.recorded(Store.at(str(Path(config.checkpointing.dir))))
    assert known is not None
    assert [era["generation"] for era in known.topics[topic]["eras"]] == [1]
    seen = {row: cells[b"n"] for row, cells in visible(lab.cells(config)).items()}
    assert seen == {f"k{n}".encode(): str(100 + n).encode() for n in range(40)}
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0


def test_aggregates_begin_anew_on_their_table(lab: Lab) -> None:
    topic = lab.topic(*numbered(6))
    parts = {
        "sql": "SELECT 'all' AS id, CAST(count(*) AS INT) AS n FROM source",
        "sink": {"version": "checkpoint"},
        "table": lab.table("d"),
        "checkpointing": {"dir": str(lab.folder("checkpoint"))},
    }
    config = lab.numbers(topic, source={"max-offsets-per-trigger": 2}, **parts)
    lab.finish(config)
    assert visible(lab.cells(config)) == {b"all": {b"n": b"6"}}
    lab.produce(topic, *numbered(1))
    # One checkpoint now, where there were three: by their ids alone the new one would stay hidden.
    lab.finish(lab.numbers(topic, **parts), options=FRESH)
    assert visible(lab.cells(config)) == {b"all": {b"n": b"7"}}
