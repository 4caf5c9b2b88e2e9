"""The words of a metric."""

from __future__ import annotations

from milepost.rest.metrics.model import Sample, one


def test_what_is_not_known_has_no_sample():
    assert list(one(None)) == []
    assert list(one(0)) == [Sample(0)]
