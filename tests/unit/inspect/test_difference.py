"""What happened between two checkpoints."""

from __future__ import annotations

from typing import Any

from tests.unit.inspect.left_behind import ERAS, NOON, completed

from milepost.checkpoint.model import Acknowledgement, CheckpointId, CompletedCheckpoint
from milepost.inspect.checkpoint_details import KnownCheckpoint
from milepost.inspect.difference import (
    Change,
    Difference,
    PartitionChange,
    Written,
    compare_checkpoints,
    positions_of,
)


def between(
    before: CompletedCheckpoint, after: CompletedCheckpoint, *known: CompletedCheckpoint
) -> Difference:
    told = {each.checkpoint_id: each for each in known}
    return compare_checkpoints(
        KnownCheckpoint(before, True),
        KnownCheckpoint(after, True),
        lambda number: told.get(CheckpointId(number)),
    )


def test_partitions_rows_and_time() -> None:
    found = between(completed(0), completed(3), completed(1), completed(2))
    assert found.partitions == (PartitionChange("orders", 0, 10, 40), PartitionChange("orders", 1, 9, 39))
    assert [each.records for each in found.partitions] == [30, 30]
    assert found.written == (Written("writer/0", 30, 3 * 4096), Written("writer/1", 27, 12000))
    assert (found.counted, found.between, found.elapsed_ms) == (3, 3, 30_000)


def test_what_nobody_remembers_is_counted_as_missing() -> None:
    found = between(completed(0), completed(3))
    assert (found.counted, found.between) == (1, 3)
    assert found.written[0].rows == 10


def test_backwards_nothing_was_written() -> None:
    found = between(completed(3), completed(0))
    assert (found.written, found.between) == ((), 0)
    assert found.partitions[0].records == -30


def test_partitions_that_came_and_went() -> None:
    found = between(
        completed(0, sources=({"orders": {0: 5}},)),
        completed(1, sources=({"orders": {1: 3}}, {"users": {0: 2}})),
    )
    assert [(p.topic, p.partition, p.records) for p in found.partitions] == [
        ("orders", 0, None),
        ("orders", 1, 3),
        ("users", 0, 2),
    ]


def test_only_what_changed_is_told() -> None:
    grown: dict[str, Any] = {"orders": {**ERAS["orders"], "eras": [{}, {}]}}
    found = between(
        completed(0, states={"a": {"n": 1}, "b": 7}, extra={"ticket": "M-1"}),
        completed(
            1,
            states={"a": {"n": 10}, "b": 7, "c": b"xyz"},
            extra={},
            topic_ids={"orders": "new"},
            versions=grown,
        ),
    )
    assert found.states == (Change("a", 8, 9), Change("c", None, 3))
    assert found.extra == (Change("ticket", "M-1", None),)
    assert found.topic_ids == (Change("orders", "qX4", "new"),)
    assert found.eras == (Change("orders", 1, 2),)


def test_operators_say_how_large_their_state_is() -> None:
    def store(rows: int) -> tuple[Acknowledgement, ...]:
        return (Acknowledgement(participant="state/0", at=NOON, rows=rows, bytes=100 * rows),)

    found = between(completed(0, acknowledgements=store(1)), completed(1, acknowledgements=store(5)))
    assert found.operators == (Change("state/0", (1, 100), (5, 500)),)
    assert found.written == ()


def test_what_the_history_does_not_hold_is_no_change() -> None:
    slim = completed(0, states={}, versions={}, extra={})
    found = compare_checkpoints(
        KnownCheckpoint(slim, False), KnownCheckpoint(completed(1), True), lambda _: None
    )
    assert not found.is_complete
    assert (found.states, found.extra, found.eras) == ((), (), ())


def test_offsets_of_all_sources_are_put_together() -> None:
    checkpoint = completed(0, sources=({"a": {0: 1}}, {"b": {0: 2, 1: 3}}))
    assert positions_of(checkpoint) == {("a", 0): 1, ("b", 0): 2, ("b", 1): 3}
