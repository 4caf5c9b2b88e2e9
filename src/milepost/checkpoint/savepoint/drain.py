"""Decides whether a job can be drained: whether all results that wait for event time can be emitted before it stops."""

from __future__ import annotations

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import newest_completed, read_commit
from milepost.checkpoint.store.store import Store
from milepost.errors import SavepointError


def refusal(store: Store) -> SavepointError | None:
    """Return why a job on this checkpoint directory cannot be drained, None if nothing waits for event time.

    Flink would send a final watermark after every record. Spark derives its watermark from records alone, so open
    windows stay open; emitting them would need records that were never sent.
    """
    newest = newest_completed(store)
    if newest is None or not any(entry.is_folder for entry in store.entries(names.STATE)):
        return None
    if not read_commit(store, newest.batch_id).get("nextBatchWatermarkMs"):
        return None
    return SavepointError(
        "The job cannot be drained: it has state that waits for event time to advance",
        why="Spark's watermark follows the records, and Spark has no final watermark",
        fix="Stop without drain: the waiting state is in the savepoint, and continues when the job is restored",
    )
