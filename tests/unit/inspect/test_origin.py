"""The way back from a version is the inverse of the way there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from milepost.inspect.origin import Place, checkpoint_of, generation_of, places, version_of
from milepost.verify.versions import Era

SINCE, UNTIL = 1_794_736_441_000, 1_794_737_642_000
GROWN = {
    "orders": (
        Era(0, False, {0: 0, 1: 0}),
        Era(1, True, {0: 812, 1: 790}, SINCE, UNTIL),
        Era(2, False, {0: 1620, 1: 1633, 2: 810}),
    )
}
ENDS = {("orders", partition): 5000 for partition in range(3)}


def test_an_offset_names_no_partition() -> None:
    assert places(42, {}, {("orders", 0): 100, ("orders", 1): 50, ("orders", 2): 42}) == [
        Place("orders", 0, 42, 0),
        Place("orders", 1, 42, 0),
    ]


def test_a_generation_that_no_era_has_is_of_no_record() -> None:
    assert places(7 << 48 | 3, GROWN, ENDS) == []


def test_an_offset_of_another_era_is_out() -> None:
    # Partition 2 came with the second era, and offset 100 is below its first of the third.
    assert {place.partition for place in places(2 << 48 | 1000, GROWN, ENDS)} == {2}


@given(
    partition=st.integers(0, 2),
    offset=st.integers(0, 4999),
    moment=st.one_of(st.none(), st.integers(SINCE - 5000, UNTIL + 5000)),
)
def test_every_record_is_among_the_places_of_its_version(
    partition: int, offset: int, moment: int | None
) -> None:
    version = version_of(GROWN, ("orders", partition, offset), moment)
    found = places(version, GROWN, ENDS)
    assert ("orders", partition, offset) in [place[:3] for place in found]
    assert {place.generation for place in found} == {generation_of(version)}


@given(partition=st.integers(0, 1), offset=st.integers(812, 1600))
def test_what_was_written_first_while_a_topic_grew_is_found_too(partition: int, offset: int) -> None:
    first_try = GROWN["orders"][0].version(partition, offset, None)
    assert ("orders", partition, offset) in [place[:3] for place in places(first_try, GROWN, ENDS)]


def test_a_checkpoint_version_has_both_parts() -> None:
    assert (generation_of(3 << 48 | 17), checkpoint_of(3 << 48 | 17)) == (3, 17)
