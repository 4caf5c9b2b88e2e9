"""Offsets as values: two forms of one thing, merged over sources, and the lag."""

from __future__ import annotations

import pytest

from milepost.checkpoint.model import Offsets
from milepost.source.positions import (
    flatten_offsets,
    lag_of,
    merge_offsets,
    nest_positions,
    partition_lags,
    total_lag,
)


def test_flat_and_nested_are_the_same_offsets() -> None:
    offsets = {"t": {0: 5, 1: 6}, "u": {0: 7}}
    assert flatten_offsets(offsets) == {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}
    assert nest_positions(flatten_offsets(offsets)) == offsets
    assert list(nest_positions({("u", 0): 1, ("t", 1): 2, ("t", 0): 3})) == ["t", "u"]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ((), {}),
        (({"a": {0: 1}}, {"b": {0: 2}}), {"a": {0: 1}, "b": {0: 2}}),
        # A view that is used twice may be cut at two positions; the lower one counts.
        (({"a": {0: 5, 1: 2}}, {"a": {0: 3, 1: 4}}), {"a": {0: 3, 1: 2}}),
        (({"a": {0: 5}}, {}), {"a": {0: 5}}),
    ],
)
def test_merge_offsets(sources: tuple[Offsets, ...], expected: Offsets) -> None:
    assert merge_offsets(sources) == expected


def test_the_lag_is_never_negative() -> None:
    assert (lag_of(5, 8), lag_of(9, 7)) == (3, 0)


def test_only_partitions_whose_position_is_known_have_a_lag() -> None:
    ends = {"t": {0: 8, 1: 7, 2: 4}, "u": {0: 3}}
    assert partition_lags({"t": {0: 5, 1: 9}}, ends) == {("t", 0): 3, ("t", 1): 0}
    assert (total_lag({"t": {0: 5, 1: 9}}, ends), total_lag({}, ends)) == (3, 0)
