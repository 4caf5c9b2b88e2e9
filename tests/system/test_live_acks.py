"""While a batch runs, each writer that has acknowledged is seen; at its seal, the state stores are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent, wait_until

from milepost.config import Config
from milepost.job.prepare import PreparedJob, prepare_job
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.job.status import JobStatus
from milepost.transform import Transformation


def prepared(lab: Lab, config: Config, transformation: Transformation | None = None) -> PreparedJob:
    spec = JobSpec(
        spark=lab.spark,
        config=config,
        folder=lab.root,
        log=lab.root / "driver.log",
        transformation=transformation,
    )
    return prepare_job(spec)


def status(ready: PreparedJob) -> dict[str, Any]:
    return dict(json.loads(ready.engine_job.status()))


def record(key: str, partition: int) -> Sent:
    return Sent(json.dumps({"id": key, "n": 1}).encode(), partition=partition)


def held_by(sign: Path) -> Transformation:
    """Return a transformation that keeps the rows of partition 1 until a file is there."""
    path = str(sign)

    def wait(partition):
        import os
        import time

        while partition == 1 and not os.path.exists(path):
            time.sleep(0.02)
        return 1

    def transform(rows: DataFrame) -> DataFrame:
        held = F.udf(wait, "int", useArrow=False)
        return rows.withColumn("n", held(F.col("_kafka.partition")))

    return transform


def test_one_of_two_writers_is_seen_before_the_other_has_ended(lab: Lab):
    topic = lab.topic(record("a", 0), record("b", 0), record("c", 1), partitions=2)
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}},
    )
    sign = lab.folder("sign") / "go"
    ready = prepared(lab, config, held_by(sign))
    job = start_job(ready)
    try:
        wait_until(lambda: status(ready)["acknowledged"] == 1, "one writer has acknowledged")
        assert status(ready)["tasks"] == 2
        assert status(ready)["sealed"] == -1
        live = json.loads(ready.engine_job.acks().json())
        # By its offsets: tasks are not numbered as partitions are.
        assert [(ack["offsets"], ack["rows"]) for ack in live["acks"]] == [({topic: {"0": [0, 1]}}, 2)]
    finally:
        sign.touch()
    assert job.wait() is JobStatus.FINISHED, job.error
    assert status(ready)["acknowledged"] == 2


def test_an_aggregation_has_the_writers_of_its_last_stage_and_its_state(lab: Lab):
    topic = lab.topic(*(record(f"k{n}", n % 3) for n in range(9)), partitions=3)
    config = lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["total"]}, "version": "checkpoint"},
        sql="SELECT id, sum(n) AS total FROM source GROUP BY id",
    )
    ready = prepared(lab, config)
    job = start_job(ready)
    assert job.wait() is JobStatus.FINISHED, job.error
    assert status(ready)["tasks"] == 2  # spark.sql.shuffle.partitions of these tests
    assert status(ready)["acknowledged"] == 2
    completed = job.checkpoints.stats.latest_completed
    assert completed is not None
    (state,) = [ack for ack in completed.acknowledgements if ack.participant.startswith("state/")]
    assert (state.participant, state.details["name"], state.details["instances"], state.rows) == (
        "state/0",
        "stateStoreSave",
        2,
        9,
    )
    assert state.bytes > 0
