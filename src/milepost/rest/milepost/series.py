"""`/milepost/jobs/:jobid/series`: the data of the charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.rest.server.parameters import RequestedView
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.history_cache import CheckpointPoint
from milepost.rest.view.sampler import EVERY, Sample

router = APIRouter(tags=["milepost"])


@router.get("/milepost/jobs/{jobid}/series")
def series(view: RequestedView, since: Annotated[int | None, Query(ge=0)] = None) -> dict[str, Any]:
    """Return samples of the last half hour, and the ended checkpoints."""
    monitor = view.monitor
    return series_body(monitor.sampler.samples(), monitor.history.checkpoint_points(), view.now(), since)


def series_body(
    samples: Sequence[Sample], points: Sequence[CheckpointPoint], now: datetime, since: int | None
) -> dict[str, Any]:
    """Return samples and ended checkpoints, oldest first; only those after `since`, if it is given."""
    begin = -1 if since is None else since
    return {
        "now": milliseconds(now),
        "every-ms": round(EVERY * 1000),
        "samples": [_sample_body(each) for each in samples if milliseconds(each.at) > begin],
        "checkpoints": [_point_body(each) for each in points if milliseconds(each.at) > begin],
    }


def _sample_body(sample: Sample) -> dict[str, Any]:
    records = sample.records_per_second
    return {
        "at": milliseconds(sample.at),
        "rows": sample.rows,
        "rows-per-second": round(sample.rows_per_second, 1),
        "records-per-second": None if records is None else round(records, 1),
        "lag": sample.lag,
        "lags": dict(sample.lags),
        "rejected": sample.rejected,
        "batch": sample.batch,
        "tasks": sample.tasks,
        "acknowledged": sample.acknowledged,
    }


def _point_body(point: CheckpointPoint) -> dict[str, Any]:
    return {
        "id": point.checkpoint_id,
        "at": milliseconds(point.at),
        "trigger": point.trigger,
        "status": "COMPLETED" if point.is_completed else "FAILED",
        "duration-ms": point.duration_ms,
        "state-bytes": point.state_bytes,
        "written-bytes": point.written_bytes,
        "rows": point.rows,
    }
