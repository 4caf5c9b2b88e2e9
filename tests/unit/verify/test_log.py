"""Which part of the log is read; the reading itself needs a broker and is in tests/system/test_checker.py."""

from __future__ import annotations

import pytest

from milepost.errors import NotReachableError
from milepost.verify.log import Span, read, take_spans


def test_a_span_is_whole_where_nothing_can_have_been_before_or_between() -> None:
    assert Span(topic="t", partition=0, begin=0, end=9).is_whole
    assert not Span(topic="t", partition=0, begin=1, end=9).is_whole
    assert not Span(topic="t", partition=0, begin=0, end=9, compacted=True).is_whole


def test_empty_spans_are_read_without_asking_anybody() -> None:
    assert list(read({}, [Span(topic="t", partition=0, begin=5, end=5)])) == []


def test_a_broker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.verify.log._TIMEOUT_S", 0.5)
    with pytest.raises(NotReachableError, match=r"127\.0\.0\.1:1 "):
        take_spans({"bootstrap.servers": "127.0.0.1:1"}, ["t"])
