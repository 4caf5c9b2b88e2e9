"""Which checkpoint has a record."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.inspect.left_behind import NOON, LeftBehind, completed

from milepost.inspect.checkpoint_details import StoredCheckpoints
from milepost.inspect.coverage import Certainty, coverage


def found(left: LeftBehind, offset: int, topic: str = "orders") -> tuple[str, int | None]:
    result = coverage(StoredCheckpoints(left.store), topic, 0, offset)
    return result.certainty.name, result.checkpoint_id


@pytest.fixture
def left(tmp_path: Path) -> LeftBehind:
    return LeftBehind(tmp_path / "orders")


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, ("EXACT", 0)),
        (9, ("EXACT", 0)),
        (10, ("EXACT", 1)),
        (49, ("EXACT", 4)),
        (50, ("NOT_YET", None)),
    ],
)
def test_a_boundary_is_the_first_offset_that_it_does_not_have(
    left: LeftBehind, offset: int, expected: tuple[str, int | None]
) -> None:
    left.take(*(completed(n) for n in range(5)), retained=2)
    assert found(left, offset) == expected


def test_what_is_older_than_all_that_is_known_is_said_to_be(left: LeftBehind) -> None:
    left.take(completed(5), completed(6))
    assert found(left, 3) == ("OR_OLDER", 5)
    assert found(left, 60) == ("EXACT", 6)
    assert str(coverage(StoredCheckpoints(left.store), "orders", 0, 3)) == (
        "checkpoint 5 or older (older than what is retained)"
    )


def test_a_hole_in_what_is_known_is_no_certainty(left: LeftBehind) -> None:
    left.take(completed(0), completed(7))
    assert found(left, 40) == ("OR_OLDER", 7)


def test_of_a_topic_that_is_not_in_any_nothing_is_known(left: LeftBehind) -> None:
    left.take(completed(0))
    assert found(left, 0, "users") == ("UNKNOWN", None)


def test_a_job_that_began_anew_has_only_its_own_checkpoints(left: LeftBehind) -> None:
    left.take(*(completed(n) for n in range(5)))
    for number in range(5):
        left.store.delete(f"milepost/checkpoints/{number}.json")
    late = NOON + timedelta(hours=1)
    left.take(completed(0, sources=({"orders": {0: 35}},), triggered_at=late, completed_at=late))
    assert found(left, 34) == ("EXACT", 0)
    assert found(left, 45) == ("NOT_YET", None)


def test_the_words(left: LeftBehind) -> None:
    left.take(completed(0))
    said = [str(coverage(StoredCheckpoints(left.store), "orders", 0, offset)) for offset in (0, 10)]
    assert said == ["checkpoint 0", Certainty.NOT_YET.value]
