"""The history of one row: what a reader must see of it, and what is removed."""

from __future__ import annotations

from milepost.verify.history import CLEARED, Effect, RowHistory


def history(*effects: Effect) -> RowHistory:
    made = RowHistory(("orders", 0))
    for effect in effects:
        made.add(effect, None)
    return made


def test_a_delete_removes_every_column_and_a_cleared_column_itself() -> None:
    made = history(
        Effect(b"r", 1, (b"a", b"b")),
        Effect(b"r", 2, None),
        Effect(b"r", 3, (CLEARED, b"c")),
        Effect(b"r", 4, (b"d", None)),
    )
    assert made.floors(2) == [3, 2]
    assert made.final(2) == [(b"d", 4), (b"c", 3)]
    assert history().floors(2) == [-1, -1]


def test_a_first_try_is_kept_beside_the_version_that_counts() -> None:
    made = RowHistory(("orders", 0))
    made.add(Effect(b"r", 9, (b"a",)), 4)
    made.add(Effect(b"r", 10, None), 5)
    assert made.first_tries == [(4, (b"a",)), (5, None)]
    assert (made.puts, made.deletes) == ([(9, (b"a",))], [10])
