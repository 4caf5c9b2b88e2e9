"""The size of state: proportional to its rows, whatever Spark's memory does."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from milepost.checkpoint.model import Acknowledgement, CheckpointId, CompletedCheckpoint, Trigger
from milepost.checkpoint.stats.engine_report import SealReport
from milepost.checkpoint.stats.state_size import with_state_sizes

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def state(rows: int, memory: int, updated: int = 0, removed: int = 0, **custom: int) -> Acknowledgement:
    details = {"rows-updated": updated, "rows-removed": removed, "custom": custom}
    return Acknowledgement(participant="state/0", at=NOW, rows=rows, bytes=memory, details=details)


def rocksdb(rows: int, memory: int, updated: int, *, removed: int = 0, **custom: int) -> Acknowledgement:
    """As Spark tells it: 100 bytes for each row that was written."""
    written = {"rocksdbTotalBytesWritten": 100 * (updated + removed), "rocksdbPutCount": updated + removed}
    return state(rows, memory, updated, removed, **(written | custom))


def completed(*acks: Acknowledgement) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(1),
        trigger=Trigger.PERIODIC,
        triggered_at=NOW,
        completed_at=NOW,
        job_id="job",
        epoch=1,
        acknowledgements=acks,
    )


def sizes(*acks: Acknowledgement) -> list[int]:
    """The sizes of one operator's state in checkpoints that follow each other."""
    found: list[int] = []
    before: CompletedCheckpoint | None = None
    for ack in acks:
        (sized,) = with_state_sizes(SealReport(acknowledgements=(ack,)), before).acknowledgements
        found.append(sized.bytes)
        before = completed(sized)
    return found


def test_the_buffers_of_rocksdb_are_not_its_state() -> None:
    assert sizes(
        rocksdb(250, 3_100_000, 250),
        rocksdb(250, 3_100_000, 0),
        rocksdb(500, 40_000, 250, rocksdbSstFileSize=9_000),
        rocksdb(500, 130_000, 0, rocksdbSstFileSize=9_000),
        rocksdb(400, 3_200_000, 0, removed=100, rocksdbSstFileSize=9_000),
    ) == [25_000, 25_000, 50_000, 50_000, 40_000]


def test_what_a_restore_replays_is_not_counted_as_rows_of_the_batch() -> None:
    replayed = rocksdb(300, 1, 50, rocksdbTotalBytesWritten=90_000, rocksdbNumReplayChangelogFiles=3)
    assert sizes(rocksdb(250, 1, 250), replayed) == [25_000, 30_000]
    first: dict[str, Any] = {"rocksdbTotalBytesWritten": 30_000, "rocksdbPutCount": 300}
    assert sizes(rocksdb(300, 1, 50, rocksdbNumReplayChangelogFiles=3, **first)) == [30_000]


def test_a_state_of_which_nothing_was_written_has_the_size_of_its_files() -> None:
    assert sizes(rocksdb(300, 5_000_000, 0, rocksdbSstFileSize=20_000)) == [20_000]
    assert sizes(rocksdb(0, 5_000_000, 0)) == [0]


def test_an_average_follows_what_is_written_now() -> None:
    large = {"rocksdbTotalBytesWritten": 1_000_000_000}
    found = sizes(rocksdb(10, 1, 2_000_000), *(rocksdb(10, 1, 1_000_000, **large) for _ in range(8)))
    assert found[0] == 1_000
    assert found[-1] > 9_000


def test_a_state_on_the_heap_is_that_of_its_newest_version() -> None:
    assert sizes(state(3, 9_000, stateOnCurrentVersionSizeBytes=700)) == [700]


def test_spark_says_nothing_else_of_another_backend() -> None:
    assert sizes(state(3, 9_000)) == [9_000]


def test_the_memory_stays_among_the_details_and_writers_are_left_alone() -> None:
    writer = Acknowledgement(participant="writer/0", at=NOW, bytes=5)
    report = SealReport(acknowledgements=(writer, rocksdb(1, 77, 1)))
    first, second = with_state_sizes(report, None).acknowledgements
    assert first == writer
    assert second.details["memory-bytes"] == 77
