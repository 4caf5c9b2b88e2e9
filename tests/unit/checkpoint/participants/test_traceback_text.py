"""A user sees the frames of their own code, also of chained exceptions, and none of ours."""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants import traceback_text
from milepost.checkpoint.participants.chain import Call, Chain
from milepost.checkpoint.participants.contributions import Contributions
from milepost.checkpoint.participants.participant import Member, SnapshotContext
from milepost.checkpoint.participants.traceback_text import shortened, user_traceback
from milepost.errors import SnapshotDeclined

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def fail(message: str) -> None:
    raise ValueError(message)


def plain() -> None:
    fail("boom")


def caused() -> None:
    try:
        fail("first")
    except ValueError as error:
        raise LookupError("second") from error


def while_handling() -> None:
    try:
        fail("first")
    except ValueError:
        fail("second")


def hidden() -> None:
    try:
        fail("first")
    except ValueError:
        raise LookupError("second") from None


def in_a_library() -> None:
    json.loads("{")


def leave() -> None:
    sys.exit(3)


def through_ours() -> None:
    SnapshotContext("p", CheckpointId(1), NOW).attach("k", object())


def passed_on_from_ours() -> None:
    try:
        through_ours()
    except Exception as error:
        raise LookupError("second") from error


def caught_by_us(code: Callable[[], None]) -> BaseException:
    """Return what the code raised, with one of our frames around it as in a real hook."""
    chain = Chain((Member("p", {}),))
    error = chain._step(chain.members[0], Call("snapshot_state", CheckpointId(1), ["p"]), lambda _: code())
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("code", "functions", "last"),
    [
        (plain, ["plain", "fail"], "ValueError: boom"),
        (caused, ["caused", "fail", "caused"], "LookupError: second"),
        (while_handling, ["while_handling", "fail", "while_handling", "fail"], "ValueError: second"),
        (hidden, ["hidden"], "LookupError: second"),
        (
            passed_on_from_ours,
            ["passed_on_from_ours", "through_ours", "passed_on_from_ours"],
            "LookupError: second",
        ),
        (in_a_library, ["in_a_library", "loads", "decode", "raw_decode"], "json.decoder.JSONDecodeError: "),
        (leave, ["leave"], "SystemExit: 3"),
        (through_ours, ["through_ours"], "milepost.errors.ParticipantError: The extra value 'k' of"),
    ],
)
def test_only_frames_that_are_not_ours_are_shown(code: Callable[[], None], functions: list[str], last: str):
    text = user_traceback(caught_by_us(code))
    lines = text.splitlines()
    shown = [line.rsplit(" in ", 1)[1] for line in lines if line.startswith("  File ")]
    assert [name for name in shown if name not in ("<lambda>",)] == functions
    assert lines[-1].startswith(last)
    assert lines[0] == "Traceback (most recent call last):"
    assert "milepost/checkpoint/" not in text.replace("tests/unit", "")


def test_chained_exceptions_are_joined_by_pythons_own_sentences():
    assert "direct cause of the following exception" in user_traceback(caught_by_us(caused))
    assert "During handling of the above exception" in user_traceback(caught_by_us(while_handling))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are younger")
def test_a_group_shows_each_of_its_exceptions():
    def several() -> None:
        raise builtins.ExceptionGroup("two", [ValueError("one"), KeyError("other")])  # type: ignore[attr-defined]

    text = user_traceback(caught_by_us(several))
    assert "ValueError: one" in text
    assert "KeyError: 'other'" in text


def test_without_a_frame_of_the_users_there_is_no_heading():
    def takes_two(one, two):
        return None

    hook = Member("p", {"snapshot_state": takes_two})
    with pytest.raises(SnapshotDeclined) as caught:
        Contributions(CheckpointId(1), NOW).ask(hook)
    assert caught.value.why.startswith("TypeError: ")
    assert "takes_two() missing 1 required positional argument: 'two'" in caught.value.why


def test_an_exception_that_cannot_be_printed_is_still_told():
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    def mute() -> None:
        raise Mute

    assert "Mute" in user_traceback(caught_by_us(mute))


def test_endless_recursion_is_told_in_few_lines():
    def ping() -> None:
        pong()

    def pong() -> None:
        ping()

    text = user_traceback(caught_by_us(ping))
    assert "RecursionError" in text.splitlines()[-1]
    assert len(text.splitlines()) < 450


def test_a_long_text_loses_its_middle():
    text = "a" * 5000 + "b" * 100_000 + "c" * 5000
    short = shortened(text)
    assert len(short) < traceback_text._LONGEST + 100
    assert short.startswith("a" * traceback_text._HEAD)
    assert short.endswith("c" * 5000)
    assert f"{len(text) - traceback_text._LONGEST} characters left out" in short
    assert shortened("short") == "short"
