"""Cuts and writings are judged from offsets and raw cells alone."""

from __future__ import annotations

import pytest

from milepost.checkpoint.model import Offsets
from milepost.demo.alignment import (
    Cut,
    Writes,
    counts_at,
    cut_faults,
    cut_lines,
    records_below,
    write_faults,
    write_lines,
    writes_of,
)
from milepost.verify.compare import RawCell

TOPICS = ("one", "two")


def cell(row: str, version: int, value: str = "x", qualifier: bytes = b"n") -> RawCell:
    return row.encode(), "d", qualifier, version, "Put", value.encode()


COUNTED = [cell("one", 1, "100"), cell("one", 2, "130"), cell("two", 2, "125"), cell("two", 1, "105")]


@pytest.mark.parametrize(
    ("checkpoint_id", "counts"),
    [(0, (0, 0)), (1, (100, 105)), (2, (130, 125)), (3, (130, 125))],
)
def test_a_checkpoint_has_counted_what_the_newest_cell_up_to_it_says(
    checkpoint_id: int, counts: tuple[int, int]
) -> None:
    assert tuple(counts_at(COUNTED, checkpoint_id, TOPICS).values()) == counts
    assert tuple(counts_at(COUNTED[::-1], checkpoint_id, TOPICS).values()) == counts


@pytest.mark.parametrize(
    ("sources", "below"),
    [
        ([], {"one": 0, "two": 0}),
        ([{"two": {0: 105}}, {"one": {0: 100}}], {"one": 100, "two": 105}),
        ([{"one": {0: 60, 1: 40}}], {"one": 100, "two": 0}),
        # The same topic in two lines would be a topic that is read twice.
        ([{"one": {0: 1}, "two": {0: 2}}], {"one": 1, "two": 2}),
    ],
)
def test_records_below_offsets_are_counted_by_topic(sources: list[Offsets], below: dict[str, int]) -> None:
    assert records_below(sources, TOPICS) == below
    assert list(records_below(sources, TOPICS)) == list(TOPICS)


def cut(one: int, two: int) -> Cut:
    offsets = {"one": 100, "two": 105}
    return Cut(checkpoint_id=1, when="before the crash", offsets=offsets, counts={"one": one, "two": two})


@pytest.mark.parametrize(
    ("one", "two", "counts"),
    [(100, 105, None), (100, 106, "(100, 106)"), (99, 105, "(99, 105)"), (105, 100, "(105, 100)")],
)
def test_one_record_more_or_less_in_either_topic_is_a_fault(one: int, two: int, counts: str | None) -> None:
    sentence = "at checkpoint 1, before the crash, the offsets are (100, 105) and the counts "
    assert cut_faults([cut(one, two)]) == ([] if counts is None else [sentence + counts])


ONCE = [cell("one-0", 5), cell("one-1", 6)]


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        ([], (0, 0, 0)),
        (ONCE, (2, 0, 0)),
        # The same version again is the same cell; another one is a second writing.
        ([*ONCE, cell("one-0", 5)], (2, 0, 0)),
        ([*ONCE, cell("one-0", 7)], (1, 1, 0)),
        ([*ONCE, cell("one-0", 7), cell("one-0", 8), cell("one-0", 9)], (1, 0, 1)),
        ([cell("one-0", 5), cell("one-0", 6, qualifier=b"m")], (2, 0, 0)),
    ],
)
def test_every_version_of_a_cell_is_a_writing(cells: list[RawCell], times: tuple[int, int, int]) -> None:
    writes = writes_of(cells, mode="at-least-once", version="server-time")
    assert (writes.once, writes.twice, writes.more) == times
    assert writes.records == sum(times)


@pytest.mark.parametrize(
    ("mode", "once", "twice", "more", "is_fine"),
    [
        ("exactly-once", 280, 0, 0, True),
        ("exactly-once", 279, 1, 0, False),
        ("exactly-once", 279, 0, 0, False),
        ("at-least-once", 230, 50, 0, True),
        ("at-least-once", 280, 0, 0, False),
        ("at-least-once", 231, 49, 0, False),
        ("at-least-once", 229, 50, 1, False),
    ],
)
def test_replayed_records_are_written_twice_in_one_mode_only(
    mode: str, once: int, twice: int, more: int, is_fine: bool
) -> None:
    writes = Writes(mode=mode, version="v", once=once, twice=twice, more=more)
    assert (write_faults(writes, records=280, replayed=50) == []) is is_fine


def test_both_are_told_as_tables() -> None:
    assert cut_lines([cut(100, 105), cut(100, 106)]) == [
        "checkpoint  offsets (one, two)  counts (one, two)",
        "1           (100, 105)          (100, 105)         equal      before the crash",
        "1           (100, 105)          (100, 106)         DIFFERENT  before the crash",
    ]
    assert write_lines([Writes(mode="exactly-once", version="offset", once=9, twice=0)]) == [
        "mode          version  records  written once  twice",
        "exactly-once  offset   9        9             0",
    ]
