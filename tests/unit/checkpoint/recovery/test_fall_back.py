"""A damaged directory resumes from its newest complete checkpoint, and nothing of it is removed."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.unit.checkpoint.spark_directory import Mortal, PowerCut, SparkDirectory, ends

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.recovery.fall_back import fall_back
from milepost.checkpoint.recovery.preflight import check_directory
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.spark_log import batch_ids, newest_completed
from milepost.errors import PreflightError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
STATE = [
    "0/0/1.changelog",
    "0/0/3.changelog",
    "0/0/4.changelog",
    "0/0/5.changelog",
    "0/0/5_6e7a.zip",
    "0/0/_metadata/schema",
]


@pytest.fixture
def spark(spark: SparkDirectory) -> SparkDirectory:
    """Batches 0 to 3 are done and have manifests, 4 is begun and sealed."""
    spark.batches(offsets=range(5), commits=range(4))
    files = CheckpointFiles(spark.store)
    for number in range(5):
        checkpoint = CompletedCheckpoint(
            checkpoint_id=CheckpointId(number),
            trigger=Trigger.PERIODIC,
            triggered_at=NOW,
            completed_at=NOW,
            job_id="j",
            epoch=1,
            sources=({"orders": ends(number)},),
        )
        if number < 4:
            files.complete(checkpoint)
        else:
            files.seal(checkpoint)
    for name in STATE:
        spark.write(f"state/{name}", "")
    return spark


def files_in(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_nothing_happens_to_a_whole_directory(spark: SparkDirectory):
    before = files_in(spark.root)
    assert fall_back(spark.store, job_name="orders") is None
    assert files_in(spark.root) == before


@pytest.mark.parametrize(
    ("damaged", "resumed", "offsets", "commits", "manifests", "sealed", "state"),
    [
        ("offsets/4", 3, {0, 1, 2, 3}, {0, 1, 2, 3}, [0, 1, 2, 3], [], 3),
        ("commits/3", 2, {0, 1, 2}, {0, 1, 2}, [0, 1, 2], [], 2),
        ("offsets/3", 2, {0, 1, 2}, {0, 1, 2}, [0, 1, 2], [], 2),
        ("milepost/checkpoints/3.json", 2, {0, 1, 2}, {0, 1, 2}, [0, 1, 2], [], 2),
        ("offsets/1", 3, {2, 3, 4}, {0, 1, 2, 3}, [0, 1, 2, 3], ["4.json"], None),
        ("commits/1", 3, {0, 1, 2, 3, 4}, {2, 3}, [0, 1, 2, 3], ["4.json"], None),
        ("milepost/checkpoints/1.json", 3, {0, 1, 2, 3, 4}, {0, 1, 2, 3}, [0, 2, 3], ["4.json"], None),
    ],
)
def test_what_is_damaged_and_newer_is_set_aside(
    spark: SparkDirectory,
    damaged: str,
    resumed: int,
    offsets: set[int],
    commits: set[int],
    manifests: list[int],
    sealed: list[str],
    state: int | None,
):
    before = files_in(spark.root)
    spark.write(damaged, "v1")
    done = fall_back(spark.store, job_name="orders")
    assert done is not None
    assert done.checkpoint_id == resumed
    assert [damage.name for damage in done.damage] == [damaged]
    completed = newest_completed(spark.store)
    assert completed is not None
    assert completed.batch_id == resumed
    check_directory(spark.store, job_name="orders")
    assert batch_ids(spark.store, "offsets") == offsets
    assert batch_ids(spark.store, "commits") == commits
    assert CheckpointFiles(spark.store).ids() == manifests
    assert spark.store.names("milepost/sealed") == sealed
    kept = [
        f"state/{name}"
        for name in STATE
        if state is None or not name[4].isdigit() or int(name[4]) <= state + 1
    ]
    assert sorted(spark.store.walk("state")) == kept
    aside = Path(done.folder)
    assert aside == spark.root / "milepost/damaged/1"
    reasons = json.loads((aside / "damage.json").read_text())
    assert (reasons["resumed-from"], reasons["damage"][0]["name"]) == (resumed, damaged)
    left = [name for name in files_in(spark.root) if not name.startswith("milepost/damaged/")]
    moved = [name for name in files_in(aside) if name != "damage.json"]
    assert sorted(left + moved) == before


def test_a_folder_in_the_way_and_checksums_move_too(spark: SparkDirectory):
    (spark.root / "offsets/5").mkdir()
    spark.checksum("offsets/4")
    spark.write("offsets/4", "v1")
    done = fall_back(spark.store, job_name="orders")
    assert done is not None
    assert sorted(p.name for p in (spark.root / "milepost/damaged/1/offsets").iterdir()) == [
        ".4.crc",
        "4",
        "5",
    ]
    check_directory(spark.store, job_name="orders")


@pytest.mark.parametrize("damaged", ["metadata", "offsets/0", "sources/0/0"])
def test_what_leaves_nothing_complete_is_refused_as_it_is(spark: SparkDirectory, damaged: str):
    for number in (1, 2, 3, 4):
        spark.store.delete(f"offsets/{number}")
        spark.store.delete(f"commits/{number}")
        spark.store.delete(f"milepost/checkpoints/{number}.json")
    spark.write(damaged, "")
    before = files_in(spark.root)
    with pytest.raises(PreflightError, match=damaged):
        fall_back(spark.store, job_name="orders")
    assert files_in(spark.root) == before


def test_a_second_fall_back_has_a_folder_of_its_own(spark: SparkDirectory):
    for number, name in ((1, "offsets/4"), (2, "commits/3")):
        spark.write(name, "v1")
        done = fall_back(spark.store, job_name="orders")
        assert done is not None
        assert done.folder.endswith(f"damaged/{number}")


@pytest.mark.parametrize("moves", range(8))
def test_a_death_in_the_middle_is_made_good_by_the_next_start(spark: SparkDirectory, moves: int):
    spark.write("commits/3", "v1")
    with pytest.raises(PowerCut):
        fall_back(Mortal(spark.root, moves), job_name="orders")
    fall_back(spark.store, job_name="orders")
    check_directory(spark.store, job_name="orders")
    completed = newest_completed(spark.store)
    assert completed is not None
    assert completed.batch_id == 2
