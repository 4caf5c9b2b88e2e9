"""The judge of the kill tests must be able to say no: made-up samples of a group beside made-up completions."""

from __future__ import annotations

import pytest
from tests.system.group_watch import Completion, Sample, faults

COMPLETIONS = [Completion(10, {0: 5, 1: 5}), Completion(20, {0: 9, 1: 5})]

FINE = {
    "no group yet": [Sample(1, {}), Sample(15, {})],
    "in the same moment": [Sample(10, {0: 5, 1: 5}), Sample(20, {0: 9, 1: 5})],
    "later": [Sample(12, {}), Sample(19, {0: 5, 1: 5}), Sample(99, {0: 9, 1: 5})],
    "one partition after the other": [Sample(21, {0: 5}), Sample(22, {0: 5, 1: 5}), Sample(23, {0: 9, 1: 5})],
}

WRONG = {
    "before any checkpoint": ([Sample(9, {0: 5, 1: 5})], ["ahead: partition 0", "ahead: partition 1"]),
    "one step too early": ([Sample(19, {0: 9, 1: 5})], ["ahead: partition 0 at 9, completed 5"]),
    "one offset too far": ([Sample(30, {0: 9, 1: 6})], ["ahead: partition 1 at 6, completed 5"]),
    "a partition that no checkpoint has": ([Sample(30, {2: 1})], ["ahead: partition 2"]),
    "back": (
        [Sample(30, {0: 9, 1: 5}), Sample(31, {0: 5, 1: 5})],
        ["back: partition 0 from 9 to 5"],
    ),
    "gone": ([Sample(30, {0: 9, 1: 5}), Sample(31, {1: 5})], ["back: partition 0 from 9 to None"]),
}


@pytest.mark.parametrize("kind", FINE)
def test_what_is_allowed(kind: str) -> None:
    assert faults(FINE[kind], COMPLETIONS) == []


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not(kind: str) -> None:
    samples, expected = WRONG[kind]
    found = faults(samples, COMPLETIONS)
    assert len(found) == len(expected)
    for sentence, beginning in zip(found, expected, strict=True):
        assert sentence.startswith(beginning)
