"""`/milepost/jobs/:jobid/timeline`: the states of a job, over all the drivers that ran it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from milepost.checkpoint.store.history import JobEvent
from milepost.job.status import JobStatus
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.view.history_cache import Stay


@dataclass(frozen=True, slots=True)
class Now:
    """The job as this server knows it."""

    job_id: str
    status: JobStatus
    at: datetime


def timeline(stays: Sequence[Stay], now: Now) -> dict[str, Any]:
    """Return the states, oldest first, each with its end and why it came."""
    followed = [_state(stay, after.move) for stay, after in pairwise(stays)]
    last = [_last(stays[-1], now)] if stays else []
    return {
        "now": milliseconds(now.at),
        "states": [*followed, *last],
        "restarts": sum(stay.move.status == JobStatus.RESTARTING.value for stay in stays),
    }


def _state(stay: Stay, after: JobEvent) -> dict[str, Any]:
    """Return a state that another one followed, of this driver or of the next."""
    is_lost = not _is_over(stay) and after.job_id != stay.move.job_id
    return _entry(stay, stay.heard_at if is_lost or _is_over(stay) else after.at, is_lost=is_lost)


def _last(stay: Stay, now: Now) -> dict[str, Any]:
    """Return the newest state: it lasts, it is the end, or nobody has heard of the driver since."""
    if _is_over(stay):
        return _entry(stay, stay.move.at, is_lost=False)
    is_lost = now.status.is_terminal and now.status.value != stay.move.status
    return _entry(stay, stay.heard_at if is_lost else None, is_lost=is_lost)


def _is_over(stay: Stay) -> bool:
    return stay.move.status in {status.value for status in JobStatus if status.is_terminal}


def _entry(stay: Stay, to: datetime | None, *, is_lost: bool) -> dict[str, Any]:
    return {
        "job-id": stay.move.job_id,
        "state": stay.move.status,
        "from": milliseconds(stay.move.at),
        "to": None if to is None else milliseconds(to),
        "reason": stay.move.detail,
        "lost": is_lost,
    }
