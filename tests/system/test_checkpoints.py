"""Checkpoints of a real job: who begins them, how soon, what is stored of them and what is seen while they run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent, numbered, wait_until

from milepost.checkpoint.coordinator import CheckpointCoordinator
from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Declined, Trigger
from milepost.checkpoint.stats.engine_report import SealReport
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.job.supervisor import Job
from milepost.transform import Transformation

NEVER = {"interval": "1h", "timeout": "1h"}
"""After the first checkpoint, which comes at once, only somebody who asks gets another."""
WAIT_S = 60.0


class Seals:
    """What the engine reported at step 6 of each checkpoint from now on."""

    def __init__(self, coordinator: CheckpointCoordinator) -> None:
        self.reports: dict[int, SealReport] = {}
        self._seal: Callable[[CheckpointId, SealReport, int | None], Declined | None] = coordinator.seal
        coordinator.seal = self._take  # type: ignore[method-assign]

    def _take(
        self, checkpoint_id: CheckpointId, report: SealReport, attempt: int | None = None
    ) -> Declined | None:
        self.reports[checkpoint_id] = report
        return self._seal(checkpoint_id, report, attempt)


def p99(what: str, milliseconds: Sequence[float]) -> float:
    """Print a distribution, for whoever looks at the test's output, and return its 99th percentile."""
    cuts = quantiles(milliseconds, n=100, method="inclusive")
    print(f"{what}: p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, max {max(milliseconds):.0f} ms")
    return cuts[98]


def completed(job: Job) -> int:
    return job.checkpoints.stats.completed


def manifests(config: Config) -> list[CompletedCheckpoint]:
    files = CheckpointFiles(Store.at(config.checkpointing.dir))
    return [found for each in files.ids() if (found := files.get(each))]


def spark_s_offsets(config: Config, checkpoint_id: int) -> dict[str, dict[int, int]]:
    """Return what stands in offsets/N, without any code of ours."""
    lines = (Path(config.checkpointing.dir) / "offsets" / str(checkpoint_id)).read_text().splitlines()
    return {
        topic: {int(partition): offset for partition, offset in partitions.items()}
        for topic, partitions in json.loads(lines[2]).items()
    }


# ---- when ----


def test_on_demand_begins_soon_and_completes_without_new_records(lab: Lab) -> None:
    config = lab.numbers(lab.topic(*numbered(3)), source={"stop": "never"}, checkpointing=NEVER)
    with lab.running(config) as (job, pipeline):
        wait_until(lambda: job.progress().rows == 3 and completed(job) > 0, "the backlog is done")
        seals, before = Seals(job.checkpoints), completed(job)
        starts, gates, wholes = [], [], []
        for number in range(20):
            # A completion is told when the engine has just come to the gate: asked at once, each request would
            # meet it there. An idle round takes a bit more than 100 ms, and the requests are spread over it.
            threading.Event().wait(0.2 + number * 0.11 / 20)
            asked, began = datetime.now(timezone.utc), time.monotonic()
            taken = pipeline.checkpoint(WAIT_S)
            wholes.append((time.monotonic() - began) * 1000)
            report = seals.reports[taken.checkpoint_id]
            assert report.admitted_at is not None
            starts.append((report.admitted_at - asked).total_seconds() * 1000)
            assert starts[-1] > -1, (
                "the engine has whole milliseconds; before that it is another round's time"
            )
            gates.append(report.gate_wait_ms)
            assert (taken.trigger, taken.rows) == (Trigger.ON_DEMAND, 0)
            assert list(taken.sources[0].values()) == [{0: 3}]
        assert completed(job) == before + 20
    assert p99("request to gate", starts) <= 1000
    assert p99("open gate to engine", gates) <= 1000
    p99("request to completion", wholes)


def test_the_interval_reaches_the_gate_soon_also_when_nothing_is_new(lab: Lab) -> None:
    config = lab.numbers(
        lab.topic(*numbered(3)), source={"stop": "never"}, checkpointing={"interval": "50ms"}
    )
    with lab.running(config) as (job, _):
        seals = Seals(job.checkpoints)
        wait_until(lambda: completed(job) >= 52, "50 periodic checkpoints")
        reports = [report for report in [*seals.reports.values()] if report.was_wanted][:50]
    assert p99("trigger to gate", [report.gate_wait_ms for report in reports]) <= 1000
    assert {each.trigger for each in manifests(config)} == {Trigger.PERIODIC}


def test_on_demand_at_interval_0_has_everything_that_was_there_when_it_was_asked_for(
    lab: Lab, tmp_path: Path
) -> None:
    topic = lab.topic(*numbered(2, partitions=2), partitions=2)
    config = lab.numbers(topic, source={"stop": "never"})
    with lab.running(config, held_by(tmp_path / "go")) as (job, _):
        wait_until(lambda: job.progress().running_batch == 0, "the first batch runs")
        lab.produce(topic, *numbered(2, 2, partitions=2))
        asked = job.trigger_checkpoint()
        (tmp_path / "go").touch()
        taken = asked.result(WAIT_S)
        assert taken.trigger is Trigger.ON_DEMAND
        assert taken.sources == ({topic: {0: 2, 1: 2}},)
        again = job.trigger_checkpoint().result(WAIT_S)
        assert (again.trigger, again.rows, again.sources) == (Trigger.ON_DEMAND, 0, taken.sources)


def test_on_demand_in_real_time_waits_for_the_end_of_the_batch_at_most(lab: Lab) -> None:
    topic = lab.topic(*numbered(3))
    config = lab.numbers(
        topic,
        source={"stop": "never"},
        checkpointing={"execution": "real-time", "interval": "1s"},
    )
    with lab.running(config) as (job, pipeline):
        wait_until(lambda: job.progress().rows == 3, "the backlog is done")
        lab.produce(topic, *numbered(1, 3))
        began = time.monotonic()
        taken = pipeline.checkpoint(WAIT_S)
        assert time.monotonic() - began < 1 + 5
        assert taken.trigger is Trigger.ON_DEMAND
        wait_until(
            lambda: manifests(config)[-1].sources == ({topic: {0: 4}},), "the record is in one of the next"
        )


def test_a_batch_that_spark_begins_by_itself_is_a_checkpoint_too(lab: Lab) -> None:
    def seen(second: int) -> Sent:
        at = datetime.fromtimestamp(1_700_000_000 + second, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Sent(json.dumps({"id": "x", "at": at}).encode(), b"k")

    config = lab.config(
        lab.topic(seen(0), seen(100)),
        lab.table("d"),
        source={
            "format": "json",
            "schema": "id STRING, at TIMESTAMP",
            "stop": "never",
            "watermark": {"strategy": "periodic", "column": "at", "delay": "5s"},
        },
        sink={"columns": {"d": ["n"]}, "version": "checkpoint"},
        sql="""SELECT string(window(at, '10 seconds').start) AS id, count(*) AS n
            FROM source GROUP BY window(at, '10 seconds')""",
        checkpointing=NEVER,
    )
    with lab.running(config) as (job, pipeline):
        wait_until(lambda: completed(job) >= 2, "the watermark has moved, and Spark has closed a window")
        first, by_spark = manifests(config)[:2]
        assert (first.trigger, by_spark.trigger) == (Trigger.PERIODIC, Trigger.ENGINE)
        assert by_spark.sources == first.sources
        after = pipeline.checkpoint(WAIT_S)
        assert (after.checkpoint_id, after.trigger) == (by_spark.checkpoint_id + 1, Trigger.ON_DEMAND)


# ---- what is stored ----


def test_a_manifest_has_the_boundary_the_acknowledgements_and_who_sealed_it(lab: Lab) -> None:
    topic = lab.topic(*numbered(12, partitions=2), partitions=2)
    config = lab.numbers(topic, source={"max-offsets-per-trigger": 4}, checkpointing={"retained": 3})
    assert lab.finish(config).rows == 12
    lab.produce(topic, *numbered(4, 12, partitions=2))
    assert lab.finish(config).rows == 4
    admin = AdminClient(lab.kafka)
    described: Any = admin.describe_topics(TopicCollection([topic]))[topic].result(30)
    # Kafka's own clients write an id in the alphabet for addresses, librdkafka in the other.
    topic_id = str(described.topic_id).replace("+", "-").replace("/", "_")

    found = manifests(config)
    newest = found[-1].checkpoint_id
    assert [each.checkpoint_id for each in found] == [newest - 2, newest - 1, newest], "retained: 3"
    for manifest in found:
        assert manifest.sources == (spark_s_offsets(config, manifest.checkpoint_id),)
        assert manifest.topic_ids == {topic: topic_id}
        writers = {ack.participant: ack for ack in manifest.acknowledgements}
        assert {*writers} == {"writer/0", "writer/1"}
        assert [writers[name].rows for name in sorted(writers)] == [2, 2]
        assert all(ack.bytes > 0 and ack.duration_ms >= 0 for ack in writers.values())
        assert manifest.duration_ms > 0
    assert [each.epoch for each in found] == [found[0].epoch, found[0].epoch, found[0].epoch + 1]
    assert len({each.job_id for each in found}) == 2


def test_a_new_run_shows_the_checkpoints_of_earlier_ones(lab: Lab) -> None:
    topic = lab.topic(*numbered(2))
    config = lab.numbers(topic)
    assert lab.finish(config).rows == 2
    (before,) = manifests(config)
    lab.produce(topic, *numbered(2, 2))
    job = lab.start(config)
    job.wait()
    with job.checkpoints.changed:
        shown = [*job.checkpoints.stats.history]
        assert job.checkpoints.stats.restored == before
    assert [each.checkpoint_id for each in shown] == [0, 1]
    assert isinstance(shown[0], CompletedCheckpoint)
    assert shown[0].job_id == before.job_id != job.job_id
    history = (Path(config.checkpointing.dir) / "milepost" / "history.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in history]
    assert [event["status"] for event in events if event["event"] == "job"] == ["RUNNING", "FINISHED"] * 2
    assert [event["id"] for event in events if event["event"] == "completed-checkpoint"] == [0, 1]


def test_the_state_stores_acknowledge_with_their_sizes(lab: Lab) -> None:
    config = lab.numbers(
        lab.topic(*numbered(9)),
        sink={"version": "checkpoint"},
        sql="SELECT id, sum(n) AS n FROM source GROUP BY id",
    )
    assert lab.finish(config).rows == 9
    (stored,) = [each for each in manifests(config) if each.rows]
    (state,) = [ack for ack in stored.acknowledgements if ack.participant.startswith("state/")]
    assert (state.participant, state.rows) == ("state/0", 9)
    assert stored.state_size == state.bytes > 0
    assert {ack.participant for ack in stored.acknowledgements} == {"writer/0", "writer/1", "state/0"}


# ---- while it runs ----


def held_by(sign: Path) -> Transformation:
    """Return a transformation that keeps the rows of partition 1 until a file is there."""
    path = str(sign)

    def wait(n, partition):
        import os
        import time

        while partition == 1 and not os.path.exists(path):
            time.sleep(0.02)
        return n

    def transform(rows: DataFrame) -> DataFrame:
        held = F.udf(wait, "int", useArrow=False)
        return rows.withColumn("n", held(F.col("n"), F.col("_kafka.partition")))

    return transform


class Quiet:
    """A participant that has nothing to say, and has to be waited for all the same."""

    name = "quiet"

    def snapshot_state(self, context: object) -> None:
        return None


def test_who_has_acknowledged_is_seen_while_the_batch_runs(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic(*numbered(4, partitions=2), partitions=2)
    config = lab.numbers(topic, source={"stop": "never"}, checkpointing=NEVER)
    with lab.running(config, held_by(tmp_path / "go"), participants=[Quiet()]) as (job, _):
        try:
            wait_until(lambda: len(acknowledged(job)) == 1, "one writer has acknowledged")
            pending = job.checkpoints.pending
            assert pending is not None
            assert pending.waiting_for == {"writer/0", "writer/1", "quiet"}
            # Which number it has differs from topic to topic: tasks are not numbered as partitions are.
            (first,) = pending.acknowledged.values()
            assert first.details["offsets"] == {topic: {"0": [0, 1]}}
            assert first.rows == 2
            assert pending.missing == pending.waiting_for - {first.participant}
            assert (pending.checkpoint_id, pending.trigger) == (0, Trigger.PERIODIC)
        finally:
            (tmp_path / "go").touch()
        wait_until(lambda: completed(job) == 1, "the other has too")
        assert job.checkpoints.pending is None
    assert {ack.participant for ack in manifests(config)[0].acknowledgements} == pending.waiting_for


def acknowledged(job: Job) -> set[str]:
    pending = job.checkpoints.pending
    return set() if pending is None else {*pending.acknowledged}


@pytest.mark.parametrize("interval", ["0s", "1h"])
def test_a_job_that_ends_refuses_what_is_asked_for_too_late(lab: Lab, interval: str) -> None:
    config = lab.numbers(lab.topic(*numbered(1)), checkpointing={"interval": interval, "timeout": "1h"})
    job = lab.start(config)
    job.wait()
    error = job.trigger_checkpoint().exception(WAIT_S)
    assert "NOT_ALL_REQUIRED_TASKS_RUNNING" in str(error)
