"""Rows, rejected records and checkpoints of a job: one number everywhere, across failure, replay, kill and resume."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.system.drivers import Driver, write_pipeline
from tests.system.lab import Lab, Sent, numbered

from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus
from milepost.rest.milepost import extensions
from milepost.rest.view.job_view import JobView
from milepost.rest.view.stored_view import StoredJob

RECORDS = 40
PER_BATCH = 8
PACE = {"max-offsets-per-trigger": PER_BATCH}


class Declining:
    """A participant that declines the snapshots of these numbers, counted over all attempts."""

    name = "declining"

    def __init__(self, *declined: int) -> None:
        self._declined = declined
        self._asked = 0

    def snapshot_state(self, context: Any) -> dict[str, int]:
        self._asked += 1
        if self._asked in self._declined:
            raise RuntimeError(f"snapshot {self._asked} is declined")
        return {"asked": self._asked}


@pytest.fixture
def config(lab: Lab) -> Config:
    return lab.numbers(lab.topic(*numbered(RECORDS)), source=PACE)


def again(config: Config, attempts: int) -> Config:
    restart = {"strategy": "fixed-delay", "attempts": attempts, "delay": "10ms"}
    return config.model_copy(update={"restart": type(config.restart)(**restart)})


def test_a_failed_job_counts_each_row_once(lab: Lab, config: Config) -> None:
    job = lab.start(config, participants=[Declining(3)])
    looks: list[int] = []
    assert job.wait(lambda progress: looks.append(progress.rows)) is JobStatus.FAILED
    assert job.progress().rows == 2 * PER_BATCH
    assert max(looks) == 2 * PER_BATCH
    assert extensions.progress_body(JobView(job, config))["rows"] == 2 * PER_BATCH
    assert StoredJob(Store.at(config.checkpointing.dir)).latest_progress.rows == 2 * PER_BATCH


def test_a_batch_that_runs_again_counts_its_rows_and_its_bad_records_once(lab: Lab) -> None:
    records = [record for n in range(RECORDS) for record in (*numbered(1, n), Sent(b"{", b"k"))]
    skipping = {**PACE, "bad-records": "skip"}
    config = again(lab.numbers(lab.topic(*records), source=skipping), 3)
    job = lab.start(config, participants=[Declining(2, 4, 6)])
    assert job.wait() is JobStatus.FINISHED, str(job.error)
    assert job.restarts == 3
    progress = job.progress()
    assert (progress.rows, progress.rejected_count) == (RECORDS, RECORDS)
    stored = StoredJob(Store.at(config.checkpointing.dir))
    known = stored.latest_progress
    assert (known.rows, known.rejected, stored.restarts) == (
        RECORDS,
        {"MALFORMED": RECORDS},
        3,
    )


def test_a_resumed_job_names_the_checkpoint_that_it_was_restored_from(lab: Lab, config: Config) -> None:
    newest = lab.finish(config).checkpoint_id
    assert newest == RECORDS // PER_BATCH - 1
    resumed = lab.finish(config)
    assert resumed.checkpoint_id == newest, "it has completed none itself"
    assert resumed.rows == 0


def test_one_answer_has_counts_and_newest_that_fit(lab: Lab, config: Config) -> None:
    lab.finish(config)
    answers: list[dict[str, Any]] = []
    topic = next(iter(config.views.values())).topics
    assert topic is not None
    lab.produce(topic[0], *numbered(3 * PER_BATCH, RECORDS))
    job = lab.start(config)
    view = JobView(job, config)
    assert job.wait(lambda _: answers.append(extensions.progress_body(view))) is JobStatus.FINISHED
    before = RECORDS // PER_BATCH
    for answer in answers:
        counts = answer["checkpoints"]
        assert counts["completed"] == before + counts["completed-in-this-run"]
        assert answer["checkpoint-id"] == counts["completed"] - 1
        assert counts["restored-from"] == before - 1
        assert answer["rows"] == PER_BATCH * counts["completed-in-this-run"]


def test_a_fresh_start_has_no_newest_checkpoint_of_the_time_before(lab: Lab, config: Config) -> None:
    lab.finish(config)
    first: list[Any] = []
    job = lab.start(config, options=StartOptions(fresh=True))
    first.append(extensions.progress_body(JobView(job, config))["checkpoint-id"])
    assert job.wait() is JobStatus.FINISHED
    assert first[0] in (None, 0)
    assert job.progress().checkpoint_id == RECORDS // PER_BATCH - 1


# ---- a driver of its own, which fails and dies at a step ----


def document(lab: Lab, folder: Path, attempts: int = 2) -> dict[str, Any]:
    return lab.document(
        lab.topic(*numbered(RECORDS)),
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", **PACE},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": str(folder / "checkpoint")},
        restart={"strategy": "fixed-delay", "attempts": attempts, "delay": "100ms"},
    ) | {"rest": {"bind": "127.0.0.1:0"}, "spark": {"master": "local[2]"}}


@pytest.mark.parametrize("step", ["6-seal-after@2=raise", "8-complete-before@2=raise"])
def test_rows_count_once_where_a_step_fails(lab: Lab, tmp_path: Path, step: str) -> None:
    file = write_pipeline(tmp_path, document(lab, tmp_path))
    with Driver(file, step) as driver:
        assert driver.end() == 0, driver.output
        ended = re.search(r"Job lab FINISHED: (\d+) rows.* last checkpoint (\d+)", driver.output)
    assert ended is not None, driver.output
    assert (int(ended[1]), int(ended[2])) == (RECORDS, RECORDS // PER_BATCH - 1)
    stored = StoredJob(Store.at(str(tmp_path / "checkpoint")))
    assert (stored.latest_progress.rows, stored.restarts) == (RECORDS, 1)


def test_a_killed_driver_leaves_numbers_that_add_up(lab: Lab, tmp_path: Path) -> None:
    file = write_pipeline(tmp_path, document(lab, tmp_path))
    with Driver(file, "8-complete-before@3=kill") as driver:
        assert driver.end() != 0
    with Driver(file, "", "--json") as driver:
        assert driver.end() == 0, driver.output
        events = [json.loads(line) for line in driver.output.splitlines() if line.startswith("{")]
    ended = events[-1]
    assert ended["event"] == "ended"
    assert (ended["rows"], ended["checkpoint"]) == (RECORDS - 3 * PER_BATCH, RECORDS // PER_BATCH - 1)
    job = StoredJob(Store.at(str(tmp_path / "checkpoint")))
    assert job.checkpoints.stats.completed == RECORDS // PER_BATCH
    assert job.latest_progress.rows == RECORDS - 3 * PER_BATCH
