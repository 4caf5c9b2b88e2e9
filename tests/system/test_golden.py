"""Savepoints that an earlier version wrote are restored by this one."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from tests.system import golden
from tests.system.lab import Lab

from milepost.inspect.broker import format_topic_id
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus


def topic_id(lab: Lab, topic: str) -> str:
    admin = AdminClient(lab.kafka)
    return format_topic_id(admin.describe_topics(TopicCollection([topic]))[topic].result(60).topic_id)


@pytest.mark.parametrize("kind", golden.KINDS)
def test_a_golden_savepoint_goes_on_where_it_was_taken(lab: Lab, kind: str, tmp_path: Path):
    topic = golden.topic_of(kind)
    lab.create_topic(topic)
    lab.produce(topic, *golden.records(0, 18))
    lab.hbase.create_table(topic, "d")
    config, restored = golden.config(lab, kind, tmp_path), golden.participants(kind)
    savepoint = golden.brought_here(kind, tmp_path / "golden", topic_id(lab, topic))
    with lab.running(config, participants=restored, options=StartOptions(savepoint=savepoint)) as running:
        completed = running.pipeline.checkpoint(60)
        assert running.pipeline.cancel() is JobStatus.CANCELED
    assert completed.sources == ({topic: {0: 18}},)
    assert completed.checkpoint_id > savepoint.checkpoint_id
    found = {row.id: row.n for row in lab.rows(config, "id STRING, n STRING")}
    newest = (
        {"k0": "6", "k1": "6", "k2": "6"} if kind in golden.STATEFUL else {"k0": "15", "k1": "16", "k2": "17"}
    )
    assert found == newest
    if kind == "participant":
        assert completed.states["tally"]["snapshots"] > 1
