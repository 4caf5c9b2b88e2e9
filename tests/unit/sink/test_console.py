from __future__ import annotations

from datetime import datetime, timezone

from pyspark.sql import Row

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.config import ConsoleSink
from milepost.sink.collected_rows import CollectedRows
from milepost.sink.console import ConsoleParticipant, ConsoleStage, format_rows


def test_rows_are_a_table_under_their_checkpoint():
    rows = [Row(id="a", n=1), Row(id="bcd", n=None)]
    assert format_rows(7, rows, 5).splitlines() == [
        "checkpoint 7: 5 rows",
        "  id   n",
        "  a    1",
        "  bcd  null",
        "  … 3 more",
    ]


def test_no_rows_are_no_lines():
    assert format_rows(7, [], 0) == ""


def test_a_long_or_broken_value_stays_one_short_line():
    (_, _, line) = format_rows(1, [Row(v="x\ny" * 50)], 1).splitlines()
    assert len(line) <= 62
    assert line.startswith("  x\\ny")


def test_only_what_is_complete_is_printed():
    printed: list[str] = []
    console = ConsoleParticipant(2, lambda n: CollectedRows(1, iter([[Row(n=n)]])), printed.append)
    console.initialize_state(InitializationContext())
    for number in (0, 1):
        console.snapshot_state(
            SnapshotContext("sink.console", CheckpointId(number), datetime.now(timezone.utc))
        )
    console.initialize_state(InitializationContext())
    console.snapshot_state(SnapshotContext("sink.console", CheckpointId(1), datetime.now(timezone.utc)))
    assert printed == []
    console.notify_checkpoint_complete(1)
    assert [text.splitlines()[0] for text in printed] == ["checkpoint 1: 1 row"]


def test_a_task_brings_no_more_than_is_printed():
    stage = ConsoleStage(ConsoleSink(rows=3))
    assert stage.options() == {"rows": "3"}
    assert "at most 3 rows" in stage.summary()
