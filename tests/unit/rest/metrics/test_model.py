"""The words of a metric."""

from __future__ import annotations

from milepost.rest.metrics.model import Sample, single_sample


def test_what_is_not_known_has_no_sample():
    assert list(single_sample(None)) == []
    assert list(single_sample(0)) == [Sample(0)]
