"""Flink's metrics of sources and the sink."""

from __future__ import annotations

from tests.unit.config.conftest import REMOVED, changed
from tests.unit.rest.metrics.snapshots import snapshot

from milepost.config import parse_config
from milepost.rest.metrics.model import Scope
from milepost.rest.metrics.operator import METRICS
from milepost.rest.metrics.snapshot import Snapshot


def values(at: Snapshot, name: str) -> dict[str, float | str]:
    (metric,) = [each for each in METRICS if each.name == name and each.scope is Scope.OPERATOR]
    return {sample.vertex: sample.value for sample in metric.read(at)}


def test_a_sink_that_is_not_hbase_sends_every_row():
    changes = {"sink/hbase": REMOVED, "sink/console": {}, "source/kafka/topics": ["my-orders"]}
    config = parse_config(changed(changes))
    assert values(snapshot(config=config), "numRecordsSend") == {"Sink: Writer": 70}
    assert values(snapshot(), "numRecordsSend") == {"Sink: Writer": 66}


def test_of_several_sources_nobody_knows_whose_record_was_bad():
    kafka = {"bootstrap-servers": "localhost:9092"}
    changes = {
        "source": REMOVED,
        "sources": {
            "a": {"kafka": {**kafka, "topics": ["my-orders"]}},
            "b": {"kafka": {**kafka, "topics": ["others"]}},
        },
        "sink/hbase/row-key": ["_kafka.topic", "id"],
    }
    at = snapshot(config=parse_config(changed(changes)))
    assert values(at, "numRecordsInErrors") == {}
    assert values(at, "numRecordsIn") == {"Source: a": 60, "Source: b": 0, "Sink: Writer": 70}
    assert values(at, "pendingRecords") == {"Source: a": 25}
    assert values(at, "numLateRecordsDropped") == {"Source: a": 500, "Source: b": 0}


def test_a_source_that_does_not_commit_has_no_commits():
    assert values(snapshot(commits={}), "KafkaSourceReader.commitsFailed") == {}
