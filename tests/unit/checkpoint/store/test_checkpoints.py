"""What is stored of a checkpoint, and what a death between two steps leaves of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.spark_log import CompletedBatch
from milepost.checkpoint.store.store import Store
from milepost.errors import FencedError, PreflightError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def checkpoint(number: int, *, state: str = "s", epoch: int = 1) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(number),
        trigger=Trigger.PERIODIC,
        triggered_at=NOW,
        completed_at=NOW,
        job_id="j",
        epoch=epoch,
        sources=({"t": {0: number}},),
        states={"p": state},
    )


def batch(number: int) -> CompletedBatch:
    return CompletedBatch(number, ({"t": {0: number}},))


@pytest.fixture
def files(store: Store) -> CheckpointFiles:
    return CheckpointFiles(store, clock=lambda: NOW)


def test_completed_checkpoints_come_back_in_order_of_number(files: CheckpointFiles):
    assert (files.ids(), files.newest(), files.get(9)) == ([], None, None)
    for number in (9, 10, 8):
        files.complete(checkpoint(number))
    assert files.ids() == [8, 9, 10]
    assert files.newest() == checkpoint(10)
    assert files.get(9) == checkpoint(9)
    assert files.get(7) is None


def test_completing_removes_what_was_sealed(files: CheckpointFiles, store: Store):
    files.seal(checkpoint(1))
    assert store.names("milepost/sealed") == ["1.json"]
    files.complete(checkpoint(1))
    assert store.names("milepost/sealed") == []


@pytest.mark.parametrize(
    ("second", "is_fine"),
    [
        (checkpoint(1), True),
        (replace(checkpoint(1), completed_at=NOW + timedelta(seconds=9)), True),
        (checkpoint(1, state="other"), False),
        (checkpoint(1, epoch=2), False),
    ],
    ids=["the same", "completed later", "other state", "other epoch"],
)
def test_completing_again(files: CheckpointFiles, second: CompletedCheckpoint, is_fine: bool):
    files.complete(checkpoint(1))
    if is_fine:
        files.complete(second)
    else:
        with pytest.raises(FencedError, match="Checkpoint 1 is already stored with other content"):
            files.complete(second)
    assert files.newest() == checkpoint(1)


@pytest.mark.parametrize(("keep", "left"), [(1, [5]), (2, [4, 5]), (9, [3, 4, 5]), (0, [5])])
def test_the_newest_are_retained(files: CheckpointFiles, keep: int, left: list[int]):
    for number in (3, 4, 5):
        files.complete(checkpoint(number))
    removed = files.retain(keep)
    assert files.ids() == left
    assert sorted([*removed, *left]) == [3, 4, 5]


def test_sealed_again_is_the_newer_one(files: CheckpointFiles):
    files.seal(checkpoint(1, state="before the death"))
    files.seal(checkpoint(1, state="after it"))
    recovered = files.recover(batch(1))
    assert recovered is not None
    assert recovered.states == {"p": "after it"}


@pytest.mark.parametrize(
    ("completed", "sealed", "newest_batch", "left", "state"),
    [
        ([], [], None, [], None),
        ([], [0], None, [], None),
        ([0, 1], [], 1, [0, 1], "s"),
        ([0, 1], [2], 1, [0, 1], "s"),
        ([0, 1], [2], 2, [0, 1, 2], "s"),
        ([0, 1], [], 2, [0, 1, 2], "nothing"),
        ([0, 1, 2], [2], 2, [0, 1, 2], "s"),
        ([0, 1, 2], [], 1, [0, 1], "s"),
        ([0, 1], [], None, [], None),
        ([], [], 41, [41], "nothing"),
    ],
    ids=[
        "new directory",
        "first batch sealed, not committed",
        "died at rest",
        "sealed, not committed",
        "committed, not stored",
        "committed, nothing to seal",
        "stored, still sealed",
        "Spark's log was set back",
        "Spark's log is gone",
        "a directory of plain Spark",
    ],
)
def test_recovery_follows_sparks_log(
    files: CheckpointFiles,
    store: Store,
    completed: list[int],
    sealed: list[int],
    newest_batch: int | None,
    left: list[int],
    state: str | None,
):
    for number in completed:
        files.complete(checkpoint(number))
    for number in sealed:
        files.seal(checkpoint(number))
    recovered = files.recover(None if newest_batch is None else batch(newest_batch))
    assert files.ids() == left
    assert store.names("milepost/sealed") == []
    if newest_batch is None:
        assert recovered is None
    else:
        assert recovered == files.newest()
        assert recovered is not None
        assert recovered.sources == batch(newest_batch).sources
        assert recovered.states == ({} if state == "nothing" else {"p": state})


def test_what_was_sealed_gets_its_boundary_from_sparks_log(files: CheckpointFiles):
    files.seal(replace(checkpoint(3), sources=()))
    recovered = files.recover(batch(3))
    assert recovered is not None
    assert recovered.sources == batch(3).sources
    assert recovered == files.newest()


@pytest.mark.parametrize("folder", ["sealed", "checkpoints"])
def test_recovery_refuses_a_damaged_state(files: CheckpointFiles, store: Store, folder: str):
    store.replace(f"milepost/{folder}/3.json", b"{")
    with pytest.raises(PreflightError, match=rf"milepost/{folder}/3.json is damaged"):
        files.recover(batch(3))


def test_other_files_are_not_checkpoints(files: CheckpointFiles, store: Store):
    for name in (".1.json.6e7a.tmp", "notes.json", "2", "²30.json"):
        store.replace(f"milepost/checkpoints/{name}", b"")
    assert files.ids() == []
