"""What a person reads before a job is set back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from milepost.cli.migrate.rollback import describe
from milepost.migrate.rollback_table import RollbackCounts
from milepost.source.start_offsets import PartitionStart, StartPlan


def roll_back(table: Any) -> Any:
    starts = {"source": StartPlan((PartitionStart("t", 0, 5, "checkpoint 1", 99),), 1, None)}
    return cast(
        Any,
        SimpleNamespace(
            boundary=SimpleNamespace(name="checkpoint 1"),
            records=4,
            starts=starts,
            ends={"t": {0: 9}},
            table=table,
        ),
    )


def test_what_can_be_brought_back_and_what_cannot():
    found = RollbackCounts(rows=3, same=1, restored=2, removed=4, lost=1, examples=("k1 d:n",))
    text = "\n".join(describe(roll_back(SimpleNamespace(sink=SimpleNamespace(table="orders"), found=found))))
    assert "Rolling back to checkpoint 1: 4 records will be read again." in text
    assert "t-0: from 9 to 5" in text
    assert "2 cells get their previous value back" in text
    assert "4 cells did not exist" in text
    assert "1 cells cannot be restored" in text
    assert "for example k1 d:n" in text


def test_a_table_that_stays():
    assert "stays as it is" in describe(roll_back(None))[-1]
