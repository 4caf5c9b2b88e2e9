"""`/milepost/jobs/:jobid/timeline`: the states of a job across all drivers that ran it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from fastapi import APIRouter

from milepost.checkpoint.store.history import JobEvent
from milepost.job.status import JobStatus
from milepost.rest.server.parameters import RequestedView
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.history_cache import StateInterval

router = APIRouter(tags=["milepost"])


@router.get("/milepost/jobs/{jobid}/timeline")
def timeline(view: RequestedView) -> dict[str, Any]:
    """Return the states of the job over time, across restarts and drivers."""
    job = view.job
    now = CurrentState(job.job_id, job.status, view.now())
    return timeline_body(view.monitor.history.state_intervals(), now)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The current state of the job according to this server."""

    job_id: str
    status: JobStatus
    at: datetime


def timeline_body(intervals: Sequence[StateInterval], now: CurrentState) -> dict[str, Any]:
    """Return the states, oldest first, each with its end and its cause."""
    followed = [_state(interval, after.event) for interval, after in pairwise(intervals)]
    last = [_last(intervals[-1], now)] if intervals else []
    return {
        "now": milliseconds(now.at),
        "states": [*followed, *last],
        "restarts": sum(interval.event.status == JobStatus.RESTARTING.value for interval in intervals),
    }


def _state(interval: StateInterval, after: JobEvent) -> dict[str, Any]:
    """Return a state that was followed by another, of the same driver or of the next."""
    is_lost = not _is_over(interval) and after.job_id != interval.event.job_id
    return _entry(
        interval, interval.last_seen_at if is_lost or _is_over(interval) else after.at, is_lost=is_lost
    )


def _last(interval: StateInterval, now: CurrentState) -> dict[str, Any]:
    """Return the newest state: it continues, is final, or its driver was lost."""
    if _is_over(interval):
        return _entry(interval, interval.event.at, is_lost=False)
    is_lost = now.status.is_terminal and now.status.value != interval.event.status
    return _entry(interval, interval.last_seen_at if is_lost else None, is_lost=is_lost)


def _is_over(interval: StateInterval) -> bool:
    return interval.event.status in {status.value for status in JobStatus if status.is_terminal}


def _entry(interval: StateInterval, to: datetime | None, *, is_lost: bool) -> dict[str, Any]:
    return {
        "job-id": interval.event.job_id,
        "state": interval.event.status,
        "from": milliseconds(interval.event.at),
        "to": None if to is None else milliseconds(to),
        "reason": interval.event.detail,
        "lost": is_lost,
    }
