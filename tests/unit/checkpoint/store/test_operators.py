"""The operators whose state a directory keeps, and a pipeline that has others."""

from __future__ import annotations

from pathlib import Path

import pytest

from milepost.checkpoint.store.operators import recorded_operators, require_same_operators
from milepost.checkpoint.store.store import LocalStore
from milepost.errors import PreflightError

GOLDEN = Path(__file__).parents[3] / "golden"


def test_a_savepoint_says_which_operators_it_has_the_state_of():
    assert recorded_operators(LocalStore(GOLDEN / "rocksdb")) == ("stateStoreSave",)
    assert recorded_operators(LocalStore(GOLDEN / "filesystem")) == ("stateStoreSave",)
    assert recorded_operators(LocalStore(GOLDEN / "stateless")) == ()


def test_an_operator_without_a_name_is_known_by_its_number(tmp_path: Path):
    for number in (0, 1, 10, 2):
        (tmp_path / "state" / str(number) / "0").mkdir(parents=True)
    (tmp_path / "state" / "_other").mkdir()
    assert recorded_operators(LocalStore(tmp_path)) == (
        "operator 0",
        "operator 1",
        "operator 2",
        "operator 10",
    )


@pytest.mark.parametrize(
    ("recorded", "planned"),
    [
        ([], []),
        (["stateStoreSave", "dedupe"], ["stateStoreSave", "dedupe"]),
        (["operator 0"], ["symmetricHashJoin"]),
    ],
)
def test_the_same_operators_may_go_on(recorded: list[str], planned: list[str]):
    require_same_operators(recorded, planned, "/there")


@pytest.mark.parametrize(
    ("recorded", "planned", "sentence"),
    [
        (["stateStoreSave"], [], "it has stateStoreSave, and the pipeline has none"),
        ([], ["dedupe"], "it has none, and the pipeline has dedupe"),
        (["dedupe", "stateStoreSave"], ["stateStoreSave", "dedupe"], "it has dedupe, stateStoreSave, and"),
        (["stateStoreSave"], ["dedupe", "stateStoreSave"], "and the pipeline has dedupe, stateStoreSave"),
        (["operator 0"], [], "it has operator 0, and the pipeline has none"),
    ],
)
def test_others_are_refused_with_both_lists(recorded: list[str], planned: list[str], sentence: str):
    with pytest.raises(PreflightError, match=sentence) as raised:
        require_same_operators(recorded, planned, "/there")
    assert "--fresh" in raised.value.fix
