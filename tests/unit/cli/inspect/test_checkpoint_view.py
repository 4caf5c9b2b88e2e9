"""Lines that fit a terminal of 80 columns and need no letter beyond ASCII, and the same as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.unit.inspect.left_behind import completed, failed

from milepost.cli.inspect import checkpoint_view as view
from milepost.inspect.checkpoint_details import Details, FileSize, KnownCheckpoint
from milepost.inspect.checkpoint_list import CheckpointEntry, Listing, Status
from milepost.inspect.difference import compare_checkpoints


def details(number: int = 7, *, is_stored: bool = True) -> Details:
    return Details(
        checkpoint=completed(number, extra={"ticket": "M-1", "digest": b"\0\xff"}),
        is_stored=is_stored,
        before=completed(number - 1),
        next_triggered_at=completed(number + 1).triggered_at,
        failures=(failed(number),),
        files=(FileSize("offsets/7", 1234),),
    )


def test_one_checkpoint_is_readable() -> None:
    lines = view.details_lines(details(), "orders", with_values=True)
    assert all(len(line) <= 80 and line.isascii() for line in lines)
    for expected in (
        "Checkpoint 7",
        "  job        orders id 6b1e",
        "  completed  2026-11-15 12:01:10 UTC, after 210 ms",
        "  next       triggered 10.0 s later",
        "  orders          0           80       10  qX4",
        "  writer/0       10   4.0K  12 ms",
        "  writer/0: write=mutations",
        '  counter = {"seen": 152}',
        '  ticket = "M-1"',
        "  digest = 2 bytes, hex 00ff",
        "  orders: generation 0 by offset, from 0:0",
        "  offsets/7   1.2K",
        "  CHECKPOINT_DECLINED: 'audit' raised",
    ):
        assert expected in lines


def test_records_that_are_in_no_row_are_shown() -> None:
    counted = replace(completed(7), late={"orders": 500}, rejected={"MALFORMED": 2})
    lines = view.details_lines(replace(details(), checkpoint=counted), None, with_values=False)
    late = lines.index("Late records:")
    assert [line.split() for line in lines[late + 1 : late + 3]] == [["topic", "records"], ["orders", "500"]]
    assert "  MALFORMED        2" in lines
    assert "Late records:" not in view.details_lines(details(), None, with_values=False)


def test_values_of_states_are_shown_on_request_only() -> None:
    lines = view.details_lines(details(), None, with_values=False)
    assert "  counter   13B" in lines
    assert not any("seen" in line for line in lines)


def test_one_checkpoint_as_json() -> None:
    document = view.details_document(details(is_stored=False), "orders")
    assert json.loads(json.dumps(document)) == document
    assert (document["id"], document["status"], document["job"]) == (7, "DISCARDED", "orders")
    assert document["extra"]["digest"] == {"base64": "AP8="}
    assert document["sources"] == [{"orders": {"0": 80, "1": 79}}]


def test_a_difference_is_readable() -> None:
    known = (
        KnownCheckpoint(completed(0), True),
        KnownCheckpoint(completed(9, extra={"note": "x" * 200}), True),
    )
    found = compare_checkpoints(*known, lambda number: completed(number) if number > 3 else None)
    lines = view.difference_lines(found)
    assert lines[1] == "to   checkpoint 9 (2026-11-15 12:01:30 UTC): 1 min 30 s, 9 checkpoints"
    assert lines[7].split() == ["total", "180"]
    assert "  writer/0    60  24.0K" in lines
    assert "  excluding 3 checkpoints in between that are neither stored nor in the history" in lines
    assert "  counter: 12B -> 13B" in lines


def test_a_difference_as_json() -> None:
    found = compare_checkpoints(
        KnownCheckpoint(completed(0), True),
        KnownCheckpoint(completed(1, extra={"raw": b"x"}), True),
        lambda _: None,
    )
    document = json.loads(json.dumps(view.difference_document(found)))
    assert document["partitions"][0] == {
        "topic": "orders",
        "partition": 0,
        "from": 10,
        "to": 20,
        "records": 10,
    }
    assert document["extra"] == [{"name": "raw", "from": None, "to": {"base64": "eA=="}}]
    assert document["states"] == [{"name": "counter", "from": 12, "to": 12}]


def test_what_cannot_be_compared_is_said() -> None:
    found = compare_checkpoints(
        KnownCheckpoint(completed(0), False), KnownCheckpoint(completed(1), True), lambda _: None
    )
    assert any("cannot be compared" in line for line in view.difference_lines(found))


def test_another_value_of_the_same_size_is_marked() -> None:
    known = (
        KnownCheckpoint(completed(0, states={"s": 1}), True),
        KnownCheckpoint(completed(1, states={"s": 2}), True),
    )
    assert "  s: 1B -> 1B (different content)" in view.difference_lines(
        compare_checkpoints(*known, lambda _: None)
    )


def test_the_list_explains_what_it_cuts() -> None:
    entry = CheckpointEntry(checkpoint_id=3, status=Status.DAMAGED, reason="it is torn")
    lines = view.listing_lines(Listing((entry,), stored=9, is_cut=True))
    assert lines[1].split() == ["3", "DAMAGED", "-", "-", "-", "-", "-", "-", "-"]
    assert lines[-1] == "9 stored; 1 shown. --limit 0 shows all."
    assert "3 DAMAGED: it is torn" in lines
    assert view.listing_document(Listing((entry,), 9, True))["checkpoints"][0]["reason"] == "it is torn"
