"""What participants hand in is kept, or declined with the reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.contributions import CORRECT_IT, Contributions, declined
from milepost.checkpoint.participants.participant import SNAPSHOT, Member, SnapshotContext
from milepost.errors import SnapshotDeclined

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
Hook = Callable[[SnapshotContext], Any]


def contributions() -> Contributions:
    return Contributions(CheckpointId(7), NOW)


def attaching(*keys: str) -> Hook:
    def hook(context: SnapshotContext) -> None:
        for key in keys:
            context.attach(key, key)

    return hook


def test_states_are_kept_by_name_and_who_has_none_is_left_out():
    hand_in = contributions()
    assert hand_in.ask(Member("a", {SNAPSHOT: lambda context: {"n": 1}})) == {"n": 1}
    assert hand_in.ask(Member("b", {SNAPSHOT: lambda context: None})) is None
    assert hand_in.ask(Member("c", {})) is None
    assert hand_in.ask(Member("d", {SNAPSHOT: lambda context: 0})) == 0
    assert hand_in.states == {"a": {"n": 1}, "d": 0}


def test_extra_values_are_kept_by_key():
    hand_in = contributions()
    hand_in.ask(Member("a", {SNAPSHOT: attaching("x", "y")}))
    hand_in.ask(Member("b", {SNAPSHOT: attaching("z")}))
    assert hand_in.extra == {"x": "x", "y": "y", "z": "z"}


def test_a_key_of_two_participants_is_declined_and_leaves_the_first():
    hand_in = contributions()
    hand_in.ask(Member("a", {SNAPSHOT: attaching("x")}))
    with pytest.raises(SnapshotDeclined) as caught:
        hand_in.ask(Member("b", {SNAPSHOT: attaching("new", "x")}))
    assert caught.value.why == "it attached 'x', and so did 'a'; one of the two values would be lost"
    assert hand_in.extra == {"x": "x"}


def raising(context: SnapshotContext) -> None:
    raise OSError("disk")


def leaving(context: SnapshotContext) -> None:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (raising, ["Traceback", "in raising", "OSError: disk"]),
        (leaving, ["Traceback", "in leaving", "SystemExit: 1"]),
        (lambda context: {"a": {1}}, ["The state of participant 'p' cannot be stored: at a there is a set"]),
        (
            lambda context: context.attach("k", {1}),
            ["Traceback", "in <lambda>", "The extra value 'k' of participant 'p'"],
        ),
    ],
)
def test_what_cannot_be_kept_is_declined_with_the_reason(hook: Hook, why: list[str]):
    with pytest.raises(SnapshotDeclined) as caught:
        contributions().ask(Member("p", {SNAPSHOT: hook}))
    assert caught.value.what == "Checkpoint 7 was declined by participant 'p'"
    assert caught.value.why.startswith(why[0])
    assert [part for part in why if part not in caught.value.why] == []
    assert caught.value.participants == ("p",)


def test_a_decline_says_what_to_do():
    assert declined(CheckpointId(1), "a", why="w").fix == CORRECT_IT
