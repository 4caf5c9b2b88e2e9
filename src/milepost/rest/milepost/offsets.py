"""`/milepost/jobs/:jobid/offsets`: checkpoint, group and broker offsets from the last query of the broker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.inspect.offsets import PartitionOffsets, of_checkpoint
from milepost.inspect.retention import Standing, shortest_time_left
from milepost.rest.milepost.partition_json import partition_to_json
from milepost.rest.server.parameters import RequestedView
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.background_query import QueryState
from milepost.rest.view.monitor import OffsetComparison

router = APIRouter(tags=["milepost"])


@router.get("/milepost/jobs/{jobid}/offsets")
def offsets(view: RequestedView) -> dict[str, Any]:
    """Return the checkpoint, group and broker offsets of each partition, from the last query of the broker."""
    monitor = view.monitor
    return offsets_body(monitor.offset_comparison(), monitor.newest(), view.now())


def offsets_body(
    state: QueryState[OffsetComparison], newest: CompletedCheckpoint | None, now: datetime
) -> dict[str, Any]:
    """Return the last result of the broker and its age; until then the offsets of the checkpoint alone."""
    checkpoint, partitions = state.result or (newest, of_checkpoint(newest) if newest else [])
    at = state.at
    return {
        "checkpoint": None if checkpoint is None else checkpoint.checkpoint_id,
        "newest-checkpoint": None if newest is None else newest.checkpoint_id,
        "asked-at": None if at is None else milliseconds(at),
        "age-ms": None if at is None else max(milliseconds(now) - milliseconds(at), 0),
        "asking": state.is_running,
        "error": state.error,
        "restorable": _restorable(partitions),
        "left-ms": shortest_time_left([each.verdict for each in partitions]),
        "partitions": [partition_to_json(each) for each in partitions],
    }


def _restorable(partitions: Sequence[PartitionOffsets]) -> bool | None:
    """Return whether a restore would find every record; None if the broker was not queried."""
    if not partitions or any(each.verdict.standing is Standing.UNKNOWN for each in partitions):
        return None
    return not any(each.verdict.is_lost for each in partitions)
