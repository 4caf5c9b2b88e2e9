"""Which checkpoints there are, put together from manifests and history."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import NOON, LeftBehind, completed, failed

from milepost.checkpoint.model import CheckpointId, CompletedCheckpoint
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.inspect.checkpoint_list import Status, find_checkpoints


@pytest.fixture
def left(tmp_path: Path) -> LeftBehind:
    return LeftBehind(tmp_path / "orders")


def brief(left: LeftBehind, limit: int | None = None) -> list[tuple[int, str]]:
    return [(entry.checkpoint_id, entry.status.name) for entry in find_checkpoints(left.store, limit).entries]


def test_a_directory_without_checkpoints_has_none(left: LeftBehind) -> None:
    listing = find_checkpoints(left.store, 10)
    assert (listing.entries, listing.stored, listing.is_cut) == ((), 0, False)


def test_completed_failed_and_no_longer_stored_ones_come_newest_first(left: LeftBehind) -> None:
    again = completed(2, triggered_at=NOON + timedelta(seconds=27), completed_at=NOON + timedelta(seconds=28))
    left.take(completed(0), completed(1), failed(2), again, retained=2)
    assert brief(left) == [(2, "COMPLETED"), (2, "FAILED"), (1, "COMPLETED"), (0, "DISCARDED")]


def test_an_entry_has_what_the_acknowledgements_add_up_to(left: LeftBehind) -> None:
    left.take(completed(0))
    (entry,) = find_checkpoints(left.store, None).entries
    assert (entry.rows, entry.bytes, entry.acknowledged, entry.expected) == (19, 8096, 2, 2)
    assert entry.duration_ms == 210
    assert entry.state_bytes == len('{"seen": 19}')


def test_a_failed_one_says_why(left: LeftBehind) -> None:
    left.take(failed(0))
    (entry,) = find_checkpoints(left.store, None).entries
    assert (entry.reason, entry.acknowledged, entry.expected) == ("CHECKPOINT_DECLINED: 'audit' raised", 1, 2)


def test_the_limit_cuts_and_says_so(left: LeftBehind) -> None:
    left.take(*(completed(n) for n in range(5)))
    listing = find_checkpoints(left.store, 2)
    assert [entry.checkpoint_id for entry in listing.entries] == [4, 3]
    assert (listing.stored, listing.is_cut) == (5, True)
    assert not find_checkpoints(left.store, 5).is_cut


def test_a_damaged_manifest_is_told_with_what_the_history_knows(left: LeftBehind) -> None:
    left.take(completed(0), completed(1))
    (left.root / "milepost/checkpoints/1.json").write_text("{")
    newest, _ = find_checkpoints(left.store, None).entries
    assert (newest.checkpoint_id, newest.status, newest.rows) == (1, Status.DAMAGED, 19)
    assert newest.reason
    (left.root / "milepost/history.jsonl").unlink()
    assert brief(left) == [(1, "DAMAGED"), (0, "COMPLETED")]


def test_a_checkpoint_of_an_earlier_life_is_not_taken_for_the_stored_one(left: LeftBehind) -> None:
    left.take(completed(0), completed(1))
    left.files.retain(1)
    left.store.delete("milepost/checkpoints/1.json")  # what --fresh does
    left.take(
        completed(
            0, triggered_at=NOON + timedelta(hours=1), completed_at=NOON + timedelta(hours=1, seconds=1)
        )
    )
    assert brief(left) == [(0, "COMPLETED"), (1, "DISCARDED"), (0, "DISCARDED")]


def test_a_manifest_that_vanishes_by_retention_is_no_error(
    left: LeftBehind, monkeypatch: pytest.MonkeyPatch
) -> None:
    left.take(completed(0), completed(1))
    get = CheckpointFiles.get

    def retained_meanwhile(files: CheckpointFiles, checkpoint_id: int) -> CompletedCheckpoint | None:
        if checkpoint_id == CheckpointId(0):
            left.store.delete("milepost/checkpoints/0.json")
        return get(files, checkpoint_id)

    monkeypatch.setattr(CheckpointFiles, "get", retained_meanwhile)
    assert [number for number, _ in brief(left)] == [1, 0]


def test_without_a_limit_the_manifests_alone_are_enough(left: LeftBehind) -> None:
    left.take_many(3)
    assert brief(left) == [(2, "COMPLETED"), (1, "COMPLETED"), (0, "COMPLETED")]
