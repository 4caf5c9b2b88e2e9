"""Directories that real Spark has written: whole ones pass the pre-flight, damaged ones resume after a fall-back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.system.lab import Lab, Sent, visible

from milepost.checkpoint.recovery.fall_back import fall_back
from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store.spark_log import batch_ids, is_committed, newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import PreflightError

BATCHES = 6


def numbers(*values: int) -> list[Sent]:
    return [Sent(json.dumps({"id": "sum", "n": value}).encode()) for value in values]


def aggregate(lab: Lab, topic: str, **checkpointing: Any) -> Config:
    """One record in each batch, so that a batch has the same boundary when it is run again."""
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "max-offsets-per-trigger": 1},
        sink={"columns": {"d": ["n"]}, "encoding": "string", "version": "checkpoint"},
        sql="SELECT id, sum(n) AS n FROM source GROUP BY id",
        checkpointing=checkpointing,
    )


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def version_only(path: Path) -> None:
    path.write_text("v1")


@pytest.mark.parametrize(
    ("name", "damage", "resumed"),
    [
        ("commits/5", version_only, 4),
        ("offsets/5", cut, 4),
        ("offsets/4", cut, 3),
        ("offsets/3", version_only, 5),
        ("commits/2", Path.unlink, 5),
    ],
)
def test_a_damaged_directory_is_refused_and_resumes_after_a_fall_back(
    lab: Lab, name: str, damage: Any, resumed: int
) -> None:
    topic = lab.topic(*numbers(*range(1, BATCHES + 1)))
    config = aggregate(lab, topic)
    lab.finish(config)
    store = LocalStore(Path(config.checkpointing.dir))
    assert batch_ids(store, "commits") == set(range(BATCHES))
    assert is_committed(store, BATCHES - 1)
    check_directory(store, job_name="lab")

    damage(store.root / name)
    with pytest.raises(PreflightError, match=name):
        check_directory(store, job_name="lab")
    done = fall_back(store, job_name="lab")
    assert done is not None
    assert done.checkpoint_id == resumed
    completed = newest_completed(store)
    assert completed is not None
    assert (completed.batch_id, completed.sources) == (resumed, ({topic: {0: resumed + 1}},))

    lab.produce(topic, *numbers(100))
    lab.finish(config)
    check_directory(store, job_name="lab")
    assert visible(lab.cells(config)) == {b"sum": {b"n": b"121"}}
    assert newest_completed(store).batch_id == BATCHES  # type: ignore[union-attr]


def test_a_directory_that_spark_has_purged_is_whole(lab: Lab) -> None:
    topic = lab.topic(*numbers(*range(40)))
    config = aggregate(lab, topic)
    lab.finish(config)
    store = LocalStore(Path(config.checkpointing.dir))
    offsets = batch_ids(store, "offsets")
    assert min(offsets) > 0
    check_directory(store, job_name="lab")
