"""What Flink has no metric for."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.rest.asgi import ack, pending
from tests.unit.rest.metrics.snapshots import checkpoints, snapshot

from milepost.checkpoint.model import AckResult, FailureReason
from milepost.job.monitoring.progress import NO_CHANGE
from milepost.rest.metrics.extensions import METRICS, REJECTIONS
from milepost.rest.metrics.model import Kind
from milepost.rest.metrics.snapshot import Snapshot

ROOT = Path(__file__).parents[4]


def values(at: Snapshot, name: str) -> list[float | str]:
    (metric,) = [each for each in METRICS if each.name == name]
    return [sample.value for sample in metric.read(at)]


def test_acknowledgements_as_they_come():
    at = snapshot(checkpoints=checkpoints(pending=pending(8, {"writer/0", "writer/1"}, ack("writer/0"))))
    assert values(at, "checkpoint_expected_acknowledgements") == [2]
    assert values(at, "checkpoint_acknowledgements") == [1]
    assert values(snapshot(), "checkpoint_acknowledgements") == [0]


def test_lag_is_of_the_newest_position_and_never_negative():
    assert values(snapshot(), "source_lag") == [25], "of a partition that nobody has read nothing is known"
    assert values(snapshot(ends={"my-orders": {0: 50}}), "source_lag") == [0]
    assert values(snapshot(ends=None), "source_lag") == []


def test_retention_is_what_was_last_seen():
    assert values(snapshot(), "retention_left_seconds") == [9]
    assert values(snapshot(), "unrestorable_partitions") == [1]
    assert values(snapshot(offsets=None), "unrestorable_partitions") == []


def test_reasons_are_those_of_the_engine_and_each_begins_at_zero():
    source = (ROOT / "java/engine/src/main/java/io/milepost/record/Reason.java").read_text(encoding="utf-8")
    assert (*REJECTIONS, NO_CHANGE) == tuple(re.findall(r"^  ([A-Z_]+),?$", source, re.MULTILINE))
    found = dict(zip(REJECTIONS, values(snapshot(), "rejected_records_total"), strict=True))
    assert (found["MALFORMED"], found["OVERSIZED"]) == (3, 0)


def test_late_records_are_those_of_the_newest_checkpoint():
    assert values(snapshot(), "late_records_total") == [500]
    assert values(snapshot(checkpoints=checkpoints(latest_completed=None)), "late_records_total") == [500]
    nothing = checkpoints(latest_completed=None, restored=None)
    assert values(snapshot(checkpoints=nothing), "late_records_total") == [0]


def test_refused_triggers_and_acknowledgements_are_counted_by_name():
    seen = checkpoints(
        acknowledgements={AckResult.SUCCESS: 3, AckResult.DISCARDED: 1},
        refused_triggers={FailureReason.TOO_MANY_CHECKPOINT_REQUESTS: 2},
    )
    assert values(snapshot(checkpoints=seen), "participant_acknowledgements_total") == [3, 0, 0, 1]
    assert 2 in values(snapshot(checkpoints=seen), "checkpoint_refused_triggers_total")


def test_labels_are_those_that_are_declared():
    for metric in METRICS:
        for sample in metric.read(snapshot()):
            assert set(sample.labels) == set(metric.labels), metric.name


def test_counters_are_named_as_prometheus_wants_it():
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name
