"""The watermark of a source: which options each strategy needs and takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from milepost.config import Watermark, parse_config

W = "source/kafka/watermark"
PATH = "source.kafka.watermark"

REFUSED: list[tuple[Any, dict[str, str]]] = [
    ("sometimes", {"strategy": "must be one of none, periodic, punctuated, per-partition"}),
    ("periodic", {"column": "is required", "delay": "is required"}),
    ("punctuated", {"column": "is required", "when": "is required"}),
    ("per-partition", {"column": "is required", "delay": "is required"}),
    ({"strategy": "periodic", "column": "t"}, {"delay": "is required if strategy is periodic"}),
    (
        {"strategy": "periodic", "column": "t", "delay": "5s", "when": "x"},
        {"when": "applies to punctuated, but strategy is periodic"},
    ),
    ({"strategy": "none", "column": "t"}, {"column": "applies to periodic, punctuated, per-partition"}),
    ({"strategy": "periodic", "column": "t", "delay": 5}, {"delay": "5 has no unit"}),
    ({"strategy": "periodic", "column": "_kafka.x", "delay": "5s"}, {"column": "reserved by Milepost"}),
    ({"stratgy": "none"}, {"stratgy": "did you mean strategy?"}),
    (5, {"": "must be a mapping"}),
]


@pytest.mark.parametrize(("written", "expected"), REFUSED)
def test_refused(faults, written: Any, expected: dict[str, str]):
    found = faults({W: written})
    assert list(found) == [f"{PATH}.{key}".rstrip(".") for key in expected]
    for message, sentence in zip(found.values(), expected.values(), strict=True):
        assert sentence in message


@pytest.mark.parametrize(
    ("written", "strategy", "lateness"),
    [
        ("none", "none", 0),
        ({"strategy": "none"}, "none", 0),
        ({"strategy": "periodic", "column": "t", "delay": "5s"}, "periodic", 5),
        ({"strategy": "per-partition", "column": "t", "delay": 0}, "per-partition", 0),
        ({"strategy": "punctuated", "column": "t", "when": "last"}, "punctuated", 0),
        ({"strategy": "punctuated", "column": "t", "when": "last", "delay": "1s"}, "punctuated", 1),
    ],
)
def test_accepted_and_read_again(job, written: Any, strategy: str, lateness: int):
    config = parse_config(job({W: written}))
    watermark = config.views["source"].watermark
    assert (watermark.strategy, watermark.lateness) == (strategy, timedelta(seconds=lateness))
    assert parse_config(config.redacted()) == config


def test_python_has_the_names_of_the_file():
    assert Watermark(strategy="periodic", column="t", delay="5s").lateness == timedelta(seconds=5)
