"""What cannot be, as a table of what was read."""

from __future__ import annotations

import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery.damage import (
    Damage,
    Logs,
    fault_of,
    gaps,
    gone_back,
    is_checksum_of,
    lost,
    missteps,
    resumable,
)


def logs(offsets: list[int], commits: list[int]) -> Logs:
    return Logs(frozenset(offsets), frozenset(commits))


@pytest.mark.parametrize(
    ("offsets", "commits", "missing"),
    [
        ([], [], []),
        ([0], [], []),
        ([0], [0], []),
        ([0, 1, 2], [0, 1], []),
        ([5, 6, 7], [5, 6, 7], []),
        ([5, 6, 7], [3, 4, 5, 6], []),
        ([5, 6, 7], [6, 7], []),
        ([113257, 113259], [113257], ["offsets/113258"]),
        ([0, 2, 4], [0, 1, 2, 3], ["offsets/1", "offsets/3"]),
        ([113259], [113258], ["offsets/113258"]),
        ([7], [], ["offsets/6"]),
        ([0, 1], [], ["commits/0"]),
        ([0, 1, 2, 3], [0, 1], ["commits/2"]),
        ([0, 1, 2, 3], [0, 2, 3], ["commits/1"]),
        ([], [0, 1], ["offsets/0", "offsets/1"]),
        ([0, 1], [0, 1, 2], ["offsets/2"]),
        ([0, 999_999_999_999], [0], ["offsets/1"]),
    ],
    ids=[
        "empty",
        "first batch begun",
        "first batch done",
        "a batch begun",
        "purged",
        "died between two purges",
        "fewer commits than offsets",
        "hole in offsets",
        "two holes",
        "only the newest offsets",
        "only one batch and not the first",
        "two batches begun",
        "newest commits lost",
        "hole in commits",
        "commits without offsets",
        "newest offsets lost",
        "a hole too long to count",
    ],
)
def test_missing_entries(offsets: list[int], commits: list[int], missing: list[str]):
    assert [damage.name for damage in gaps(logs(offsets, commits))] == missing


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (({"t": {0: 1}},), ({"t": {0: 1}},), None),
        (({"t": {0: 1}},), ({"t": {0: 1, 1: 0}, "u": {0: 0}},), None),
        (({},), ({"t": {0: 1}},), None),
        (({"t": {0: 1, 1: 1}},), ({"t": {0: 1}},), "partition 1 of topic 't' is gone"),
        (({"t": {0: 1}},), ({"u": {0: 1}},), "topic 't' is gone"),
        (({"t": {0: 1}},), ({},), "topic 't' is gone"),
        (({"t": {0: 1}}, {}), ({"t": {0: 1}},), "the number of its sources is 1 and was 2"),
    ],
)
def test_what_a_boundary_has_lost(
    before: tuple[Offsets, ...], after: tuple[Offsets, ...], reason: str | None
):
    assert lost(before, after) == reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"t": {0: 5}}, {"t": {0: 5}}, None),
        ({"t": {0: 5}}, {"t": {0: 6}}, None),
        ({"t": {0: 5}}, {"u": {0: 0}}, None),
        ({"t": {0: 5}}, {"t": {0: 4}}, "partition 0 of topic 't' goes back from 5 to 4"),
    ],
)
def test_a_boundary_that_goes_back(before: Offsets, after: Offsets, reason: str | None):
    assert gone_back((before,), (after,)) == reason


def test_of_two_that_contradict_each_other_neither_is_trusted():
    read = {6: ({"t": {0: 5}},), 7: ({"t": {0: 500}},), 8: ({"t": {0: 9}},)}
    assert [(d.name, d.batch_id) for d in missteps(read, {})] == [("offsets/8", 8), ("offsets/7", 7)]


@pytest.mark.parametrize(
    ("sources", "began", "found"),
    [
        (({"t": {0: 5}},), {0: {"t": {0: 0}}}, 0),
        (({"t": {0: 5}},), {}, 0),
        (({},), {0: {"t": {0: 0}}}, 0),
        (({"u": {0: 5}},), {0: {"t": {0: 0}}}, 1),
        (({"t": {0: 5}},), {0: {"t": {0: 0, 1: 0}}}, 1),
        (({"t": {0: 5}}, {"u": {0: 5}}), {0: {"t": {0: 0}}, 1: {"v": {0: 0}}}, 1),
    ],
)
def test_the_first_entry_goes_on_from_where_its_sources_began(
    sources: tuple[Offsets, ...], began: dict[int, Offsets], found: int
):
    assert len([*missteps({0: sources}, began)]) == found


@given(st.binary(max_size=2000), st.integers(1, 600))
def test_the_checksum_is_hadoops(data: bytes, chunk: int):
    sums = [zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    whole = b"crc\0" + struct.pack(f">I{len(sums)}I", chunk, *sums)
    assert is_checksum_of(whole, data)
    if data:
        assert not is_checksum_of(whole, bytes([data[0] ^ 1]) + data[1:])
        assert not is_checksum_of(whole[:-1], data)


@pytest.mark.parametrize(
    ("sums", "matches"),
    [(b"", True), (b"not one", True), (b"crc\0\0\0\0\0", False), (b"crc\0\0\0\2\0", False)],
)
def test_a_checksum_file_that_is_none(sums: bytes, matches: bool):
    assert is_checksum_of(sums, b"data") is matches


def damage(name: str, batch_id: int | None) -> Damage:
    return Damage(name=name, what="is damaged", why="", batch_id=batch_id)


@pytest.mark.parametrize(
    ("offsets", "commits", "found", "batch_id"),
    [
        ([0, 1, 2], [0, 1], [("offsets/2", 2)], 1),
        ([0, 1, 2], [0, 1, 2], [("commits/2", 2)], 1),
        ([0, 1, 2], [0, 1, 2], [("commits/1", 1)], 2),
        ([0, 1, 2], [0, 1, 2], [("offsets/1", 1)], 0),
        ([0, 1, 2], [0, 1, 2], [("milepost/checkpoints/2.json", 2)], 1),
        ([0, 1, 2], [0, 1, 2], [("milepost/checkpoints/0.json", 0)], 2),
        ([257, 259], [257], [("offsets/258", 258)], None),
        ([256, 257, 259], [256, 257], [("offsets/258", 258)], 257),
        ([5, 6], [5, 6], [("commits/6", 6)], None),
        ([0], [0], [("commits/0", 0)], None),
        ([0, 1], [0, 1], [("metadata", None)], None),
    ],
)
def test_what_can_be_resumed_from(
    offsets: list[int], commits: list[int], found: list[tuple[str, int | None]], batch_id: int | None
):
    assert resumable(logs(offsets, commits), [damage(*one) for one in found]) == batch_id


def fault(data: bytes) -> str:
    """Return how a JSON document of ours that cannot be read is described."""
    try:
        document = json.loads(data)
        if not document["name"].startswith("a"):
            raise ValueError("its name is wrong")
    except Exception as error:
        return fault_of(error, data)
    return ""


WHOLE = json.dumps({"id": 7, "name": "añ", "files": ["a", "b"]}, ensure_ascii=False).encode()


def test_every_cut_of_a_file_is_described_without_the_words_of_a_parser() -> None:
    for length in range(1, len(WHOLE)):
        assert fault(WHOLE[:length]).startswith("it is cut off"), WHOLE[:length]
    assert fault(WHOLE) == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"garbage", "it is not JSON"),
        (b'{"name": "a"}}', "it is not JSON"),
        (b"{\x80}", "it is not text"),
        (b"{}", "it has no 'name'"),
        (b"[1]", "it does not have the expected form"),
        (b'{"name": "b"}', "its name is wrong"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_plain_words(data: bytes, words: str) -> None:
    assert fault(data) == words
