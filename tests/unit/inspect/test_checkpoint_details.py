"""Everything that is known of one checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import LeftBehind, completed, failed

from milepost.errors import NotReachableError, PreflightError
from milepost.inspect.checkpoint_details import FileSize, StoredCheckpoints, state_sizes


@pytest.fixture
def left(tmp_path: Path) -> LeftBehind:
    return LeftBehind(tmp_path / "orders")


def write(left: LeftBehind, name: str, size: int) -> None:
    path = left.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))


def test_a_stored_checkpoint_has_everything(left: LeftBehind) -> None:
    left.take(completed(6), failed(7), completed(7), completed(8))
    details = StoredCheckpoints(left.store).details(7)
    assert details.checkpoint == completed(7)
    assert details.is_stored
    assert details.before is not None
    assert details.before.checkpoint_id == 6
    assert details.next_triggered_at == completed(8).triggered_at
    assert [each.reason.name for each in details.failures] == ["CHECKPOINT_DECLINED"]


def test_one_that_is_no_longer_stored_has_what_the_history_says(left: LeftBehind) -> None:
    left.take(completed(0), completed(1), retained=1)
    details = StoredCheckpoints(left.store).details(0)
    assert not details.is_stored
    assert (details.checkpoint.rows, dict(details.checkpoint.states)) == (19, {})


def test_the_newest_is_the_newest_that_is_stored(left: LeftBehind) -> None:
    left.take(completed(3), completed(4))
    assert StoredCheckpoints(left.store).newest().checkpoint.checkpoint_id == 4


def test_where_there_is_none_that_is_said(left: LeftBehind) -> None:
    with pytest.raises(NotReachableError, match="None is stored"):
        StoredCheckpoints(left.store).newest()


def test_what_is_not_there_is_refused_with_what_is(left: LeftBehind) -> None:
    left.take(completed(0), completed(1), failed(3), retained=1)
    with pytest.raises(NotReachableError, match="1 to 1 are stored, and the history reaches back to 0"):
        StoredCheckpoints(left.store).details(9)
    with pytest.raises(NotReachableError, match="It failed: CHECKPOINT_DECLINED 'audit' raised"):
        StoredCheckpoints(left.store).details(3)


def test_a_damaged_manifest_is_refused_by_its_name_but_not_where_its_neighbour_is_asked_for(
    left: LeftBehind,
) -> None:
    left.take(completed(0), completed(1))
    (left.root / "milepost/checkpoints/0.json").write_text("{")
    with pytest.raises(PreflightError, match=r"0\.json is damaged"):
        StoredCheckpoints(left.store).details(0)
    assert StoredCheckpoints(left.store).details(1).before is not None


def test_files_are_those_of_the_checkpoint(left: LeftBehind) -> None:
    left.take(completed(2))
    write(left, "offsets/2", 30)
    write(left, "commits/2", 12)
    write(left, "state/0/0/3.zip", 500)
    write(left, "state/0/1/3.changelog", 50)
    write(left, "state/0/1/2.zip", 9000)
    write(left, "state/1/0/left/3_4f0c.delta", 7)
    write(left, "state/0/_metadata/metadata", 9)
    files = StoredCheckpoints(left.store).details(2).files
    assert files[1:] == (
        FileSize("offsets/2", 30),
        FileSize("commits/2", 12),
        FileSize("state/0/*/3.*", 550),
        FileSize("state/1/*/3.*", 7),
    )
    assert files[0].name == "milepost/checkpoints/2.json"
    assert state_sizes(left.store, 1) == {"0": 9000}
