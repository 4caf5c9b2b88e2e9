"""`/milepost/jobs/:jobid/series`: what charts are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.view.history_cache import Mark
from milepost.rest.view.sampler import EVERY, Sample


def series(
    samples: Sequence[Sample], marks: Sequence[Mark], now: datetime, since: int | None
) -> dict[str, Any]:
    """Return the samples and the checkpoints that ended, oldest first; `since` leaves out what a page has already."""
    begin = -1 if since is None else since
    return {
        "now": milliseconds(now),
        "every-ms": round(EVERY * 1000),
        "samples": [_sample(each) for each in samples if milliseconds(each.at) > begin],
        "checkpoints": [_mark(each) for each in marks if milliseconds(each.at) > begin],
    }


def _sample(sample: Sample) -> dict[str, Any]:
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


def _mark(mark: Mark) -> dict[str, Any]:
    return {
        "id": mark.checkpoint_id,
        "at": milliseconds(mark.at),
        "trigger": mark.trigger,
        "status": "COMPLETED" if mark.is_completed else "FAILED",
        "duration-ms": mark.duration_ms,
        "state-bytes": mark.state_bytes,
        "written-bytes": mark.written_bytes,
        "rows": mark.rows,
    }
