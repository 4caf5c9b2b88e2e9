"""Progress is taken away as a whole, and what happened stays on record."""

from __future__ import annotations

import pytest
from tests.unit.checkpoint.spark_directory import Mortal, PowerCut, SparkDirectory

from milepost.checkpoint.recovery.discard import delete_checkpoints, set_aside
from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

PROGRESS = ["metadata", "sources/0/0", "offsets/0", "commits/0", "state/0/0/1.changelog"]
PROGRESS += ["milepost/sealed/1.json", "milepost/checkpoints/0.json", "milepost/topics.json"]
RECORD = ["milepost/history.jsonl", "milepost/exceptions.jsonl", "milepost/epochs/1", "milepost/job.json"]


def fill(store: Store, content: bytes = b"") -> None:
    for name in PROGRESS + RECORD:
        store.replace(name, content)


def files_in(store: Store, folder: str) -> list[str]:
    return sorted(name.removeprefix(f"{folder}/") for name in store.walk(folder))


def test_progress_is_set_aside_and_the_record_stays(store: Store):
    fill(store)
    assert set_aside(store) == store.address("milepost/discarded/1")
    assert files_in(store, "milepost/discarded/1") == sorted([*PROGRESS, "discarded.json"])
    assert all(store.exists(name) for name in RECORD)
    assert not any(store.exists(name) for name in PROGRESS)


def test_only_the_newest_set_is_kept(store: Store):
    for content in (b"first", b"second"):
        fill(store, content)
        set_aside(store)
    assert [entry.name for entry in store.entries("milepost/discarded")] == ["2"]
    assert store.read("milepost/discarded/2/offsets/0") == b"second"


def test_nothing_to_set_aside(store: Store):
    assert set_aside(store) is None
    fill(store)
    set_aside(store)
    assert set_aside(store) is None
    assert [entry.name for entry in store.entries("milepost/discarded")] == ["1"]


def test_checkpoints_are_deleted_and_the_record_stays(store: Store):
    delete_checkpoints(store)
    fill(store)
    delete_checkpoints(store)
    assert sorted([*store.walk("milepost")]) == sorted(RECORD)
    assert not any(store.exists(name) for name in PROGRESS)


@pytest.mark.parametrize("moves", range(1, 5))
def test_a_death_in_the_middle_is_refused_and_made_good(spark: SparkDirectory, moves: int):
    spark.batches(offsets=[0, 1], commits=[0])
    spark.write("state/0/0/1.changelog", "")
    with pytest.raises(PowerCut):
        set_aside(Mortal(spark.root, moves))
    with pytest.raises(PreflightError, match="metadata is missing"):
        check_directory(spark.store, job_name="orders")
    set_aside(spark.store)
    check_directory(spark.store, job_name="orders")
    folder = spark.root / "milepost/discarded/1"
    assert {path.name for path in folder.iterdir()} == {
        "metadata",
        "sources",
        "state",
        "commits",
        "offsets",
        "discarded.json",
    }
    assert [path.name for path in folder.parent.iterdir()] == ["1"]
