"""Where a start begins, what it refuses, and what a job leaves behind when it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition
from tests.system.lab import Lab, Sent, numbered, visible, wait_until

from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import Store
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spec import StartOptions
from milepost.job.status import JobStatus

FRESH = StartOptions(fresh=True)
SECRET = "s3cr3t-of-nobody"


def directory(config: Config) -> Path:
    return Path(config.checkpointing.dir)


def grouped(lab: Lab, topic: str, **sections: Any) -> Config:
    """Return a job that begins at its group's offsets and commits nothing, so that a test can set them."""
    source = {"group-id": lab.name("group"), "start": "group-offsets", "commit": "disabled"}
    return lab.numbers(topic, source=source | sections.pop("source", {}), **sections)


def move_group(lab: Lab, config: Config, topic: str, offset: int) -> None:
    group = config.views["source"].group_id
    consumer = Consumer(lab.kafka | {"group.id": group})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


def begins(lab: Lab, config: Config, options: StartOptions | None = None) -> tuple[int | None, int, str]:
    """Return which checkpoint a start would resume from, at which offset, and why."""
    start = prepare_job(lab.spec(config, options=options)).plan.start
    (partition,) = start.partitions
    return start.resumed_from, partition.offset, partition.reason


# ---- where ----


def test_state_comes_before_the_group_and_the_group_before_the_fallback(lab: Lab) -> None:
    topic = lab.topic(*numbered(10))
    config = grouped(lab, topic)
    assert begins(lab, config)[:2] == (None, 0), "neither state nor group"
    move_group(lab, config, topic, 4)
    assert begins(lab, config)[:2] == (None, 4)
    assert lab.finish(config).rows == 6
    completed = newest_completed(Store.at(config.checkpointing.dir))
    assert completed is not None
    move_group(lab, config, topic, 2)
    assert begins(lab, config)[:2] == (completed.batch_id, 10), "whatever the group says now"

    assert begins(lab, config, FRESH)[:2] == (None, 2)
    assert lab.finish(config, options=FRESH).rows == 8
    assert sorted(visible(lab.cells(config))) == sorted(f"k{n}".encode() for n in range(2, 10))


def test_a_fresh_start_sets_the_old_progress_aside_and_keeps_the_newest_set(lab: Lab) -> None:
    topic = lab.topic(*numbered(3))
    config = lab.numbers(topic)
    lab.finish(config)
    old = (directory(config) / "offsets" / "0").read_bytes()
    assert lab.finish(config, options=FRESH).rows == 3
    discarded = directory(config) / "milepost" / "discarded"
    assert [each.name for each in discarded.iterdir()] == ["1"]
    assert (discarded / "1" / "offsets" / "0").read_bytes() == old
    assert {each.name for each in (discarded / "1").iterdir()} >= {
        "offsets",
        "commits",
        "metadata",
        "milepost",
    }
    assert lab.finish(config, options=FRESH).rows == 3
    assert [each.name for each in discarded.iterdir()] == ["2"]
    assert lab.finish(config).rows == 0, "without the wish it goes on"


def test_another_job_s_directory_is_refused(lab: Lab) -> None:
    topic = lab.topic(*numbered(2))
    config = lab.numbers(topic)
    lab.finish(config)
    other = config.model_copy(update={"name": "another"})
    with pytest.raises(PreflightError, match="lab") as refused:
        lab.start(other)
    assert "job" in str(refused.value)
    with pytest.raises(PreflightError):
        lab.start(other, options=FRESH)
    assert lab.finish(config).rows == 0, "it is still the first one's"


# ---- the plan ----


def test_the_printed_plan_is_the_stored_one(lab: Lab) -> None:
    topic, folder = lab.topic(*numbered(4, partitions=2), partitions=2), lab.folder("plan")
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT"},
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={"dir": str(folder / "checkpoint")},
    ) | {"spark": {"master": "local[2]"}}
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(document))
    command = [sys.executable, "-m", "milepost", "run", str(folder / "pipeline.yaml")]
    environment = {**os.environ, "COLUMNS": "250"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    plan = json.loads((folder / "checkpoint" / "milepost" / "plan.json").read_text())["plan"]
    assert plan["resumed-from"] is None
    lines = [line.split() for line in run.stdout.splitlines()]
    for each in plan["partitions"]:
        begun = [each["topic"], str(each["partition"]), str(each["offset"]), *each["reason"].split()]
        assert [line for line in lines if line[: len(begun)] == begun], (begun, run.stdout)
    assert [(each["partition"], each["offset"], each["latest"]) for each in plan["partitions"]] == [
        (0, 0, 2),
        (1, 0, 2),
    ]
    assert len(plan["summary"]) >= 3
    for line in plan["summary"]:
        assert line in run.stdout
    assert {*plan["topic-ids"]} == {topic}

    # The next start has another one, in its place.
    lab.finish(Config(**document))
    again = History(Store.at(str(folder / "checkpoint"))).plan()
    assert again is not None
    assert again["resumed-from"] is not None


# ---- the end ----


@pytest.mark.parametrize(("on_cancel", "stays"), [("delete", False), ("retain", True)])
def test_a_cancelled_job_takes_its_checkpoints_along_where_it_is_told_to(
    lab: Lab, on_cancel: str, stays: bool
) -> None:
    config = lab.numbers(
        lab.topic(*numbered(3)), source={"stop": "never"}, checkpointing={"on-cancel": on_cancel}
    )
    with lab.running(config) as (job, _):
        wait_until(lambda: job.checkpoints.stats.completed > 0, "a checkpoint")
    assert job.status is JobStatus.CANCELED
    names = {each.name for each in directory(config).iterdir()}
    assert ({"offsets", "commits", "metadata"} <= names) is stays
    assert (directory(config) / "milepost" / "checkpoints").exists() is stays
    assert begins(lab, config)[:2] == ((0, 3) if stays else (None, 0))


def test_a_job_that_was_not_cancelled_keeps_them(lab: Lab) -> None:
    topic = lab.topic(*numbered(3))
    config = lab.numbers(topic, checkpointing={"on-cancel": "delete"})
    lab.finish(config)
    assert begins(lab, config)[:2] == (0, 3)
    lab.produce(topic, Sent(b"{", b"k"))
    assert lab.run_bounded(config).status is JobStatus.FAILED
    assert begins(lab, config)[:2] == (0, 3)


# ---- damage ----


def test_damage_is_named_or_fallen_back_from(lab: Lab) -> None:
    topic = lab.topic(*(Sent(b'{"id": "sum", "n": %d}' % n) for n in range(1, 5)))
    sections: dict[str, Any] = {
        "source": {"max-offsets-per-trigger": 1},
        "sink": {"version": "checkpoint"},
        "sql": "SELECT id, sum(n) AS n FROM source GROUP BY id",
    }
    config = lab.numbers(topic, **{each: value for each, value in sections.items()})
    lab.finish(config)
    completed = newest_completed(Store.at(config.checkpointing.dir))
    assert completed is not None
    damaged = f"commits/{completed.batch_id}"
    (directory(config) / damaged).write_text("v1")
    lab.produce(topic, Sent(b'{"id": "sum", "n": 100}'))
    with pytest.raises(PreflightError, match=damaged) as refused:
        lab.start(config)
    assert "on-damage" in str(refused.value)

    changed = config.checkpointing.model_copy(update={"on_damage": "fall-back"})
    mending = config.model_copy(update={"checkpointing": changed})
    warnings: list[str] = []
    lab.finish(mending, warn=warnings.append)
    assert [damaged in text and f"checkpoint {completed.batch_id - 1}" in text for text in warnings] == [True]
    assert visible(lab.cells(config)) == {b"sum": {b"n": b"110"}}
    assert (directory(config) / "milepost" / "damaged" / "1" / damaged).read_text() == "v1"
    lab.finish(config, warn=warnings.append)
    assert len(warnings) == 1, "it is whole again"


# ---- failures are remembered ----


def test_the_exceptions_of_earlier_runs_are_kept_without_secrets(lab: Lab) -> None:
    class Leaking:
        def snapshot_state(self, context: object) -> None:
            raise ValueError(f"cannot log in with {SECRET}")

    config = lab.numbers(
        lab.topic(*numbered(2)),
        source={"properties": {"ssl.key.password": SECRET}},
        restart={"strategy": "fixed-delay", "attempts": 1, "delay": "10ms"},
    )
    told: list[str] = []
    job = lab.start(config, participants=[Leaking()])
    assert job.wait(on_restart=lambda error, _delay: told.append(str(error))) is JobStatus.FAILED
    lab.finish(config)
    entries = History(Store.at(config.checkpointing.dir)).exceptions()
    assert [(each.attempt, each.status) for each in entries] == [(2, "FAILED"), (1, "RESTARTING")]
    assert all("cannot log in with" in each.why for each in entries)
    ours = directory(config) / "milepost"
    written = {path.name: path.read_bytes() for path in ours.rglob("*") if path.is_file()}
    assert {"exceptions.jsonl", "history.jsonl", "plan.json", "job.json"} <= {*written}
    assert [name for name, data in written.items() if SECRET.encode() in data] == []
    assert SECRET not in f"{job.error}{told}"
