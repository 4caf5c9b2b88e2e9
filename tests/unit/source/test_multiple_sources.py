"""Several sources: whose offsets are whose, by topic and never by place."""

from __future__ import annotations

import pytest

from milepost.checkpoint.model import Offsets
from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source.multiple_sources import (
    combine_plans,
    require_all_read,
    require_own_topics,
    require_same_order,
    split_offsets,
)
from milepost.source.start_offsets import PartitionStart, StartPlan
from milepost.source.topic_facts import KafkaFacts, PartitionFacts, TopicFacts


def source(*topics: str) -> KafkaSource:
    return KafkaSource(bootstrap_servers="b:1", topics=list(topics))


def facts(*topics: str) -> KafkaFacts:
    partitions = {0: PartitionFacts(earliest=0, latest=9)}
    return KafkaFacts({name: TopicFacts(name, partitions) for name in topics}, frozenset(topics))


SOURCES = {"orders": source("o"), "customers": source("c1", "c2")}
KNOWN = {"orders": facts("o"), "customers": facts("c1", "c2")}
ORDERS: Offsets = {"o": {0: 5}}
CUSTOMERS: Offsets = {"c1": {0: 7}, "c2": {0: 8}}


def test_each_source_has_the_offsets_of_its_topics():
    assert split_offsets({**CUSTOMERS, **ORDERS}, SOURCES, KNOWN) == {
        "orders": ORDERS,
        "customers": CUSTOMERS,
    }
    assert split_offsets({}, SOURCES, KNOWN) == {"orders": {}, "customers": {}}


def test_a_topic_that_was_deleted_still_belongs_to_its_source():
    assert (
        split_offsets({**CUSTOMERS, **ORDERS}, SOURCES, {"orders": facts(), "customers": facts("c1", "c2")})[
            "orders"
        ]
        == ORDERS
    )


def test_one_source_has_them_all():
    assert split_offsets({**CUSTOMERS, **ORDERS}, {"orders": source("o")}, {"orders": facts("o")}) == {
        "orders": {**CUSTOMERS, **ORDERS}
    }


def test_offsets_that_no_source_has_are_refused():
    with pytest.raises(PreflightError, match="'x', which no source reads"):
        split_offsets({"x": {0: 1}}, SOURCES, KNOWN)


def test_a_topic_that_two_patterns_match_is_refused():
    require_own_topics(KNOWN)
    with pytest.raises(PreflightError, match="'o' is read by two sources, a and b"):
        require_own_topics({"a": facts("o", "p"), "b": facts("q", "o")})


def test_a_source_that_is_not_read_is_refused():
    require_all_read(["b", "a", "b"], ["a", "b"])
    with pytest.raises(PreflightError, match="does not read b, c"):
        require_all_read(["a"], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("order", "lines", "is_same"),
    [
        (["orders", "customers"], [ORDERS, CUSTOMERS], True),
        (["customers", "orders"], [CUSTOMERS, ORDERS], True),
        (["orders", "customers"], [{}, CUSTOMERS], True),
        (["orders", "customers", "orders"], [ORDERS, CUSTOMERS, ORDERS], True),
        (["orders", "customers"], [CUSTOMERS, ORDERS], False),
        (["orders", "customers"], [ORDERS], False),
        (["orders", "customers"], [ORDERS, CUSTOMERS, ORDERS], False),
        (["orders", "customers"], [ORDERS, {"x": {0: 1}}], False),
    ],
)
def test_order(order: list[str], lines: list[Offsets], is_same: bool):
    if is_same:
        require_same_order(order, lines, SOURCES)
        return
    with pytest.raises(PreflightError, match="in a different order") as caught:
        require_same_order(order, lines, SOURCES)
    assert ", ".join(order) in caught.value.why


def test_the_order_of_one_source_is_its_count():
    one = {"orders": source("o")}
    require_same_order(["orders"], [{"renamed": {0: 1}}], one)
    with pytest.raises(PreflightError, match="in a different order"):
        require_same_order(["orders", "orders"], [ORDERS], one)


@pytest.mark.parametrize(
    ("first", "second", "stop"),
    [(None, None, None), (ORDERS, None, None), (ORDERS, CUSTOMERS, {**ORDERS, **CUSTOMERS})],
)
def test_plans_are_combined(first: Offsets | None, second: Offsets | None, stop: Offsets | None):
    a, b = PartitionStart("o", 0, 1, "earliest", 9), PartitionStart("c1", 0, 2, "latest", 9)
    plan = combine_plans([StartPlan((a,), 3, first), StartPlan((b,), 3, second)])
    assert (plan.partitions, plan.resumed_from, plan.stop) == ((a, b), 3, stop)
