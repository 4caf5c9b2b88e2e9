"""Which versions are newer than a boundary, and that everything written later is above all of them."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.checkpoint.versions.rollback import by_checkpoint, by_offset
from milepost.checkpoint.versions.versions import Topic, Versions, above
from milepost.errors import PreflightError
from milepost.verify.versions import era_index, parse_eras, undone

BOUNDARY = {"t": {0: 50, 1: 40}}


def versions_of(*eras: dict[str, Any]) -> Versions:
    return Versions(topics={"t": {"id": "i", "begun": 0, "eras": list(eras)}})


def version(versions: Versions, partition: int, offset: int) -> int:
    eras = parse_eras(versions.topics)["t"]
    return eras[era_index(eras, partition, offset)].version(partition, offset, None)


def test_offsets_are_split_at_the_boundary_and_go_on_above():
    known = above({"t": Topic("i", 2)}, 3, 0)
    rewind = by_offset(known, BOUNDARY)
    for partition, offset in BOUNDARY["t"].items():
        limit = rewind.limits["t"][partition]
        assert version(known, partition, offset - 1) < limit == version(known, partition, offset)
        assert version(rewind.versions, partition, offset - 1) == version(known, partition, offset - 1)
        back = rewind.generation << 48
        assert version(known, partition, 10**9) < back < version(rewind.versions, partition, offset)
    assert undone(parse_eras(rewind.versions.topics)["t"]) == rewind.generation


def test_a_second_roll_back_further_back_and_one_less_far():
    first = by_offset(above({"t": Topic("i", 2)}, 0, 0), BOUNDARY)
    further = by_offset(first.versions, {"t": {0: 5, 1: 4}})
    assert further.limits["t"] == {0: 5, 1: 4}
    assert further.generation > first.generation + 1
    nearer = by_offset(first.versions, {"t": {0: 60, 1: 60}})
    assert nearer.limits["t"][0] == (first.generation + 1) << 48 | 60


def test_a_roll_back_to_the_same_place_again_finds_the_same():
    first = by_offset(above({"t": Topic("i", 2)}, 0, 0), BOUNDARY)
    again = by_offset(first.versions, BOUNDARY)
    assert again.limits["t"][0] == (first.generation + 1) << 48 | 50, (
        "what the first has brought back is older"
    )


def test_checkpoints_are_split_by_their_number():
    rewind = by_checkpoint(Versions(generation=2), 7)
    assert rewind.limit == 2 << 48 | 8
    assert (rewind.generation, rewind.versions.generation) == (3, 4)


@pytest.mark.parametrize(
    ("known", "boundary", "what"),
    [
        (
            versions_of(
                {"generation": 0, "order": "offset", "from": {"0": 0, "1": 0}},
                {
                    "generation": 1,
                    "order": "time",
                    "from": {"0": 60, "1": 60, "2": 0},
                    "since": 1,
                    "until": 9,
                },
            ),
            {"t": {0: 50, 1: 40, 2: 0}},
            "had its partitions grown",
        ),
        (above({"t": Topic("i", 3)}, 0, 0), BOUNDARY, "was first read after the boundary"),
        (above({"t": Topic("i", 2), "u": Topic("j", 1)}, 0, 0), BOUNDARY, "Topic 'u'"),
        (Versions(), BOUNDARY, "It is unknown"),
        (above({"t": Topic("i", 2)}, (1 << 15) - 2, 0), BOUNDARY, "are used up"),
    ],
)
def test_what_cannot_be_told_is_refused(known: Versions, boundary: Any, what: str):
    with pytest.raises(PreflightError, match=what) as raised:
        by_offset(known, boundary)
    assert raised.value.why
    assert raised.value.fix
