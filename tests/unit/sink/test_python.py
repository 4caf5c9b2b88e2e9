from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import Row

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.errors import PreflightError
from milepost.sink.collected_rows import CollectedRows
from milepost.sink.python import PythonParticipant, PythonStage

JOURNAL: list[Any] = []


class Sink:
    """Takes down all that happens to it."""

    def open(self, context: InitializationContext) -> None:
        JOURNAL.append(("open", context.state))

    def invoke(self, row: Row) -> None:
        JOURNAL.append(row.n)

    def snapshot(self, checkpoint_id: int) -> dict[str, int]:
        return {"at": checkpoint_id}

    def notify(self, checkpoint_id: int) -> None:
        JOURNAL.append(("notify", checkpoint_id))

    def close(self) -> None:
        JOURNAL.append("close")


class Pages:
    def invoke_batch(self, rows: list[Row]) -> None:
        JOURNAL.append([row.n for row in rows])


class Careless:
    def invoke(self, row: Row) -> None: ...

    def close(self) -> None:
        raise OSError("gone already")


@pytest.fixture(autouse=True)
def journal() -> list[Any]:
    JOURNAL.clear()
    return JOURNAL


def participant(kind: Any) -> PythonParticipant:
    pages = [[Row(n=1), Row(n=2)], [Row(n=3)]]
    return PythonParticipant(kind, lambda _: CollectedRows(3, iter(pages)))


def context(checkpoint_id: int) -> SnapshotContext:
    return SnapshotContext("sink.python", CheckpointId(checkpoint_id), datetime.now(timezone.utc))


def test_rows_come_before_the_snapshot_and_the_notice_after_it(journal: list[Any]):
    sink = participant(Sink)
    sink.initialize_state(InitializationContext(checkpoint_id=CheckpointId(4), state={"at": 4}))
    assert sink.snapshot_state(context(5)) == {"at": 5}
    sink.notify_checkpoint_complete(5)
    sink.close()
    assert journal == [("open", {"at": 4}), 1, 2, 3, ("notify", 5), "close"]


def test_each_attempt_has_an_object_of_its_own(journal: list[Any]):
    made: list[Sink] = []

    def make() -> Sink:
        made.append(Sink())
        return made[-1]

    sink = participant(make)
    sink.initialize_state(InitializationContext())
    sink.initialize_state(InitializationContext())
    assert len(made) == 2
    assert journal == [("open", None), "close", ("open", None)]


def test_rows_may_be_taken_many_at_a_time(journal: list[Any]):
    sink = participant(Pages)
    sink.initialize_state(InitializationContext())
    assert sink.snapshot_state(context(0)) is None
    assert journal == [[1, 2], [3]]


def test_a_close_that_fails_ends_nothing():
    sink = participant(Careless)
    sink.initialize_state(InitializationContext())
    sink.close()
    sink.close()


def test_a_class_that_takes_no_rows_is_refused():
    with pytest.raises(PreflightError, match="neither invoke"):
        PythonStage("a:B", object).inspect(None)  # type: ignore[arg-type]
