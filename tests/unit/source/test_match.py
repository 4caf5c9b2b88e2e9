"""The sources of a query are matched with those of a pipeline by their topics alone."""

from __future__ import annotations

from typing import Any

import pytest

from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source.match import require_same_sources


def source(**keys: Any) -> KafkaSource:
    return KafkaSource(**{"bootstrap-servers": "h:1", **keys})


ORDERS, CUSTOMERS = source(topics=["orders"]), source(topics=["customers"])


def test_the_same_topics_pass():
    require_same_sources([{"orders": {0: 1}}], {"source": ORDERS})
    both = {"customers": CUSTOMERS, "orders": ORDERS}
    require_same_sources([{"orders": {0: 1}}, {"customers": {0: 1}}], both)
    require_same_sources([{"orders": {0: 1}}, {"customers": {0: 1}}, {"orders": {0: 1}}], both)


def test_a_pattern_may_find_more_topics():
    require_same_sources([{"orders-a": {0: 1}}], {"source": source(**{"topic-pattern": "orders-.*"})})


@pytest.mark.parametrize(
    ("lines", "views", "what"),
    [
        (
            [{"paid": {0: 1}}],
            {"source": ORDERS},
            "The query reads topic 'paid', which no source of the pipeline reads",
        ),
        (
            [{"orders": {0: 1}, "customers": {0: 1}}],
            {"a": ORDERS, "b": CUSTOMERS},
            "Source 0 of the query reads topic 'customers', topic 'orders', which belong to a and b",
        ),
        (
            [{"orders": {0: 1}}],
            {"a": ORDERS, "b": CUSTOMERS},
            "The query has no offsets for the topics of source b",
        ),
        ([{"orders": {0: 1}}, {}], {"a": ORDERS, "b": CUSTOMERS}, "no offsets for the topics of source b"),
        (
            [{"orders": {0: 1}}],
            {"source": source(topics=["orders", "paid"])},
            "The pipeline reads topic 'paid', which the query does not",
        ),
    ],
)
def test_other_topics_are_refused(lines: Any, views: Any, what: str):
    with pytest.raises(PreflightError) as raised:
        require_same_sources(lines, views)
    assert what in raised.value.what
    assert raised.value.why
    assert raised.value.fix
