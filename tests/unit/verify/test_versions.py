"""Versions of offsets as the checker makes them: the figures are those of docs/protocol.md."""

from __future__ import annotations

from milepost.verify.versions import FIRST, Era, era_index, parse_eras, undone

TIMED = Era(1, True, {0: 10, 1: 20}, since=1000, until=2000)
LATER = Era(2, False, {0: 100, 1: 100, 2: 100})


def test_the_version_of_a_topic_that_never_grew_is_its_offset() -> None:
    assert FIRST[0].version(7, 41, None) == 41
    assert Era(3, False, {}).version(0, 5, None) == 3 << 48 | 5


def test_a_record_is_of_the_newest_era_that_has_begun_in_its_partition() -> None:
    eras = (*FIRST, TIMED, LATER)
    where = [(0, 9), (0, 10), (1, 19), (2, 0), (2, 99), (2, 100), (9, 0)]
    assert [era_index(eras, *each) for each in where] == [0, 1, 0, 1, 1, 2, 2]


def test_in_a_transition_the_time_orders_and_the_offset_breaks_ties() -> None:
    # 1000 ms take 10 bits, so that 36 are left for the offset.
    assert TIMED.version(0, 12, 1003) == 1 << 48 | 1 << 46 | 3 << 36 | 2
    assert TIMED.version(2, 2, 1003) == TIMED.version(0, 12, 1003)
    assert TIMED.version(0, 10 + (1 << 36), 1003) == 1 << 48 | 1 << 46 | 3 << 36


def test_outside_of_its_window_offsets_order() -> None:
    assert TIMED.version(0, 12, 999) == 1 << 48 | 2
    assert TIMED.version(0, 12, None) == 1 << 48 | 2
    assert TIMED.version(0, 12, 2000) == 1 << 48 | 2 << 46 | 2


def test_eras_are_read() -> None:
    timed = {"generation": 1, "order": "time", "from": {"0": 10, "1": 20}, "since": 1000, "until": 2000}
    first = {"generation": 0, "order": "offset", "from": {}}
    assert parse_eras({"t": {"id": "a", "begun": 0, "eras": [first, timed]}}) == {"t": (*FIRST, TIMED)}


def test_cells_below_an_era_that_replaces_another_need_no_record() -> None:
    first, above = Era(0, False, {0: 0}), Era(6, False, {0: 0})
    rolled_back = (first, Era(1, False, {0: 50}), Era(2, False, {0: 50}))
    assert undone((first, TIMED, LATER)) == -1
    assert undone((first, above)) == 5, "a job that started above what other jobs had written"
    assert undone(rolled_back) == 1
