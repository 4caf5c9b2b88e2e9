"""A job that fails in the middle goes on from its newest checkpoint, as its strategy says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.system.lab import Lab, Sent, no_trace

from milepost.config import Config
from milepost.job.status import JobStatus
from milepost.transform import Transformation

RECORDS = 40
PER_BATCH = 8


@pytest.fixture
def config(lab: Lab, request: pytest.FixtureRequest) -> Config:
    topic = lab.topic(
        *(Sent(json.dumps({"id": f"k{n}", "n": n}).encode(), b"k", n % 2) for n in range(RECORDS)),
        partitions=2,
    )
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "max-offsets-per-trigger": PER_BATCH},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        restart=request.param,
    )


def failing(times: int, folder: Path) -> Transformation:
    """Return a transformation that raises at record 20 until it has done so that many times, whoever runs it."""
    marks = str(folder)

    def check(number: int) -> int:
        done = len(list(Path(marks).iterdir()))
        if number == 20 and done < times:
            (Path(marks) / str(done)).touch()
            raise RuntimeError(f"failure {done + 1} at record 20")
        return number

    def transformation(rows: DataFrame) -> DataFrame:
        return rows.withColumn("n", F.udf(lambda number: check(number), "int")("n"))

    return transformation


def fixed_delay(attempts: int) -> dict[str, Any]:
    return {"strategy": "fixed-delay", "attempts": attempts, "delay": "100ms"}


@pytest.mark.parametrize("config", [fixed_delay(2)], indirect=True)
def test_it_recovers_and_nothing_is_lost_or_twice(lab: Lab, config: Config, tmp_path: Path) -> None:
    told: list[str] = []
    job = lab.start(config, failing(2, tmp_path))
    assert job.wait(on_restart=lambda error, _delay: told.append(str(error))) is JobStatus.FINISHED
    assert job.restarts == 2
    assert ["failure 1" in told[0], "failure 2" in told[1]] == [True, True]
    assert all(no_trace(text.replace("Traceback (most recent call last)", "")) for text in told)
    cells = lab.cells(config)
    assert sorted(int(cell[5]) for cell in cells) == list(range(RECORDS))
    assert job.progress().rows == RECORDS


@pytest.mark.parametrize("config", [fixed_delay(1)], indirect=True)
def test_it_stays_failed_when_the_attempts_are_used_up(lab: Lab, config: Config, tmp_path: Path) -> None:
    job = lab.start(config, failing(5, tmp_path))
    assert job.wait() is JobStatus.FAILED
    assert job.restarts == 1
    assert "failure 2 at record 20" in str(job.error)
    written = {int(cell[5]) for cell in lab.cells(config)}
    assert 20 not in written
    assert {0, 1} <= written


@pytest.mark.parametrize("config", [fixed_delay(5)], indirect=True)
def test_a_bad_record_is_not_tried_again(lab: Lab, config: Config) -> None:
    topic = next(iter(config.views.values())).topics
    assert topic is not None
    lab.produce(topic[0], Sent(b"{", b"k", 0))
    job = lab.start(config)
    assert job.wait() is JobStatus.FAILED
    assert job.restarts == 0
    assert "MALFORMED" in str(job.error)
