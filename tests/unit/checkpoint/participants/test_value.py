"""What can be stored is copied into plain types; what cannot is named with its place."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from datetime import datetime, timezone
from enum import Enum, IntEnum
from typing import Any

import pytest

from milepost.checkpoint.participants.value import DEEPEST, size_of, storable
from milepost.errors import ParticipantError


class Colour(str, Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Ratio(float):
    pass


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (2**63, 2**63),
        (-0.5, -0.5),
        ("", ""),
        ("Grüße 🚀", "Grüße 🚀"),
        ([], []),
        ((1, (2,)), [1, [2]]),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (Colour.RED, "red"),
        ({Colour.RED: Level.HIGH}, {"red": 3}),
        (Ratio(0.5), 0.5),
        (b"\x00\xff", b"\x00\xff"),
        (bytearray(b"ab"), b"ab"),
        pytest.param(memoryview(b"ab"), b"ab", id="memoryview"),
    ],
    ids=repr,
)
def test_what_json_can_say_and_bytes_are_kept(given: Any, kept: Any):
    copied = storable(given, "The state", "p")
    assert copied == kept
    assert type(copied) is type(kept)
    if not isinstance(kept, bytes):
        assert json.loads(json.dumps(copied)) == copied


def test_a_key_is_a_plain_str_and_so_is_its_value():
    ((key, value),) = storable({Colour.RED: Colour.RED}, "The state", "p").items()
    assert (type(key), type(value)) == (str, str)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (object(), "it is an object, which is neither JSON nor bytes"),
        ({1, 2}, "it is a set, which is neither JSON nor bytes"),
        (
            {"when": datetime(2026, 1, 1, tzinfo=timezone.utc)},
            "at when there is a datetime, which is neither",
        ),
        (
            {"orders": [0, {"total": math.nan}]},
            "at orders[1].total there is nan, which JSON cannot represent",
        ),
        ([-math.inf], "at [0] there is -inf, which JSON cannot represent"),
        ({"by id": {7: "x"}}, "at by id there is a dict with the key 7, which JSON would give back as a str"),
        ({"raw": b"x"}, "at raw there is bytes inside of something else; bytes are stored only alone"),
        (["\ud800"], "at [0] there is a str with half a surrogate pair"),
        ({"\ud800": 1}, "it is a str with half a surrogate pair"),
        ([10**5000], "at [0] there is an int of more than 4,000 digits"),
        ((letter for letter in "ab"), "it is a generator, which is neither JSON nor bytes"),
    ],
)
def test_what_cannot_be_stored_is_named_with_its_place(given: Any, why: str):
    with pytest.raises(ParticipantError) as caught:
        storable(given, "The state", "log-id")
    assert caught.value.what == "The state of participant 'log-id' cannot be stored"
    assert caught.value.why.startswith(why)
    assert caught.value.participants == ("log-id",)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_the_deepest_value_is_kept_and_one_deeper_is_not():
    assert storable(nested(DEEPEST), "The state", "p") == nested(DEEPEST)
    with pytest.raises(ParticipantError, match="levels deep"):
        storable(nested(DEEPEST + 1), "The state", "p")


def test_a_value_that_contains_itself_is_refused():
    value: dict[str, Any] = {}
    value["self"] = [value, value]
    with pytest.raises(ParticipantError, match="contains itself") as caught:
        storable(value, "The state", "p")
    assert caught.value.why.startswith("at self[0].self[0].self")


def test_a_copy_shares_nothing_with_what_was_given():
    given = {"list": [1, {"deep": []}]}
    kept = storable(given, "The state", "p")
    given["list"][1]["deep"].append("later")  # type: ignore[index]
    assert kept == {"list": [1, {"deep": []}]}


def test_bytes_that_can_change_are_copied():
    given = bytearray(b"ab")
    kept = storable(given, "The state", "p")
    given[0] = 0
    assert kept == b"ab"


@pytest.mark.parametrize(
    ("value", "size"), [(None, 0), (b"abc", 3), ("ü", 4), ([1, 2], 6), ({}, 2)], ids=repr
)
def test_the_size_is_that_of_what_is_written(value: Any, size: int):
    assert size_of(value) == size
