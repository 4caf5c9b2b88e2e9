"""Which jobs may write a table, and above which versions they start."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from milepost.checkpoint.versions.versions import Eras, Versions
from milepost.errors import PreflightError
from milepost.sink import writers
from milepost.sink.writers import Registry, Writer


def eras(*generations: int, topic_id: str = "id-1") -> Eras:
    begun = [{"generation": number, "order": "offset", "from": {"0": 0}} for number in generations]
    return {"id": topic_id, "begun": 0, "eras": begun}


def of_topics(writer: Writer, **topics: Eras) -> Writer:
    return replace(writer, topic_ids={name: each["id"] for name, each in topics.items()}, eras=topics)


ORDERS = Writer(
    name="orders",
    directory="file:///cp",
    job_id="j1",
    since="2026-01-01T00:00:00+00:00",
    columns={"d": ("amount", "customer")},
    delete="row",
    version="offset",
    topic_ids={"orders": "id-1"},
    eras={"orders": eras(0)},
)
MOVED = replace(ORDERS, directory="file:///elsewhere", job_id="j2")
REFUNDS = eras(0, topic_id="id-9")
OTHER = of_topics(replace(ORDERS, name="refunds", directory="file:///cp2"), refunds=REFUNDS)


def above(writer: Writer, *before: Writer, newest_batch: int = -1, **registry: Any) -> int | None:
    return writers.generation_above(writer, newest_batch, before, Registry(writers=before, **registry))


def test_an_entry_survives_the_registry() -> None:
    known = writers.parse_registry(
        {"revision": "3", "writers": {ORDERS.key: ORDERS.document()}, "checkpoints": {ORDERS.key: 7}}
    )
    assert known == Registry(revision="3", writers=(ORDERS,), checkpoints={ORDERS.key: 7})


@pytest.mark.parametrize("text", ["", "{}", "[]", json.dumps({"format": 2}), '{"format": 1, "name": "x"}'])
def test_an_entry_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(PreflightError, match="cannot be read"):
        writers.parse_registry({"revision": "1", "writers": {"k": text}, "checkpoints": {}})


def test_a_registry_that_may_not_be_read_or_is_missing_is_empty() -> None:
    assert writers.parse_registry(None) == Registry()
    assert writers.parse_registry({"error": "denied"}) == Registry(refusal="denied")


def test_a_pipeline_that_moved_is_the_same_and_one_of_other_topics_is_not() -> None:
    copied = of_topics(MOVED, refunds=REFUNDS)
    registry = Registry(writers=(ORDERS,))
    assert writers.predecessors(registry, MOVED) == (ORDERS,)
    assert writers.other_writers(registry, MOVED) == ()
    assert writers.predecessors(registry, copied) == ()
    assert writers.other_writers(registry, copied) == (ORDERS,)


def test_the_same_directory_is_the_same_pipeline_with_other_topics() -> None:
    assert ORDERS.is_pipeline(of_topics(ORDERS, refunds=REFUNDS))
    assert not ORDERS.is_pipeline(replace(ORDERS, name="renamed"))


def test_writers_of_other_columns_do_not_meet() -> None:
    family = replace(OTHER, columns={"e": ("amount",)})
    column = replace(OTHER, columns={"d": ("total",)}, delete="columns")
    assert not ORDERS.overlaps(family)
    assert ORDERS.overlaps(column), "a delete of a row reaches every column of the family"
    assert not replace(ORDERS, delete="columns").overlaps(column)
    assert replace(ORDERS, delete="columns", guard="cas").overlaps(column), (
        "the guard cell is one for the row"
    )


def test_another_pipeline_is_refused_with_all_ways_out() -> None:
    with pytest.raises(PreflightError) as refused:
        writers.require_no_conflict("t", OTHER, [ORDERS])
    text = str(refused.value)
    for word in ("'t'", "'orders'", "file:///cp", "--claim-table", "shared: true", "delete: columns"):
        assert word in text


@pytest.mark.parametrize(
    ("mine", "theirs"), [(replace(OTHER, is_shared=True), ORDERS), (OTHER, replace(ORDERS, is_shared=True))]
)
def test_a_shared_table_is_let_through_with_a_warning(mine: Writer, theirs: Writer) -> None:
    writers.require_no_conflict("t", mine, [theirs])
    (warning,) = writers.sharing_warnings("t", mine, [theirs])
    assert "do not define which is newer" in warning
    timed = replace(mine, version="timestamp")
    (warning,) = writers.sharing_warnings("t", timed, [replace(theirs, version="timestamp")])
    assert "the later version wins" in warning


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ({"orders": eras(0)}, eras(0), None),  # the same function of the record
        ({"orders": eras(0, 1, 2)}, eras(0, 1), None),  # a memory that knows more
        ({"orders": eras(0)}, eras(0, 2), 3),  # a memory that is older
        ({"orders": eras(0, 3)}, eras(0, 1, 2), None),  # another one, above it
        ({"orders": eras(0, topic_id="id-2")}, eras(0), 1),  # created again, and the directory does not know
        ({"orders": eras(1, topic_id="id-2")}, eras(0), None),  # created again, and --fresh has seen to it
        ({"orders-2": eras(0, topic_id="id-5")}, eras(4), 5),  # another topic in its place
        ({"orders": eras(1), "more": eras(0, topic_id="id-5")}, eras(1), None),  # another topic beside it
    ],
)
def test_offsets_start_above_what_the_pipeline_wrote(
    mine: dict[str, Eras], theirs: Eras, expected: int | None
) -> None:
    assert above(of_topics(MOVED, **mine), of_topics(ORDERS, orders=theirs)) == expected


@pytest.mark.parametrize(
    ("mine", "is_known", "expected"),
    [
        (eras(0), False, eras(0, 1, 2)),  # a guess
        (eras(0), True, eras(0, 1, 2)),  # an older copy
        (eras(0, 1, 2, 3), True, eras(0, 1, 2, 3)),
        (eras(0, 4), True, eras(0, 4)),  # a contradiction is left to the generations
        (eras(0, topic_id="id-2"), False, eras(0, topic_id="id-2")),  # created again
    ],
)
def test_a_directory_that_forgot_continues_as_recorded(mine: Eras, is_known: bool, expected: Eras) -> None:
    recorded = of_topics(ORDERS, orders=eras(0, 1, 2))
    found = writers.continued_versions(Versions(topics={"orders": mine}), [recorded], is_known=is_known)
    assert found.topics == {"orders": expected}


@pytest.mark.parametrize(
    ("generation", "newest", "expected"),
    [(3, 9, None), (3, 8, 4), (2, 9, 4), (4, -1, None)],
    ids=["the same directory", "an old copy of it", "a directory that does not know", "a fresh start"],
)
def test_checkpoint_ids_start_above_what_was_sealed(
    generation: int, newest: int, expected: int | None
) -> None:
    before = replace(ORDERS, version="checkpoint", generation=3)
    mine = replace(MOVED, version="checkpoint", generation=generation)
    assert above(mine, before, newest_batch=newest, checkpoints={before.key: 9}) == expected


def test_another_kind_of_version_starts_above() -> None:
    timed, guarded = (
        replace(ORDERS, version="timestamp"),
        of_topics(replace(ORDERS, guard="cas"), orders=eras(5)),
    )
    by_checkpoint = replace(ORDERS, version="checkpoint", generation=6, eras={})
    raised = of_topics(MOVED, orders=eras(1))
    assert above(MOVED, timed) == 1
    assert above(raised, timed) is None
    assert above(MOVED, by_checkpoint) == 7
    assert above(raised, guarded) is None, "guarded cells carry times"
    assert above(replace(MOVED, guard="cas"), guarded) == 6, "the guard compares versions"
    assert above(replace(MOVED, version="checkpoint"), of_topics(ORDERS, orders=eras(2))) == 3


def test_times_behind_numbers_are_refused() -> None:
    timed = replace(ORDERS, version="timestamp")
    writers.require_times_visible("t", timed, 0)
    writers.require_times_visible("t", replace(ORDERS, version="column:v"), 3)
    for hidden in (timed, replace(ORDERS, version="server-time"), replace(ORDERS, guard="cas")):
        with pytest.raises(PreflightError, match="hide every version"):
            writers.require_times_visible("t", hidden, 1)
