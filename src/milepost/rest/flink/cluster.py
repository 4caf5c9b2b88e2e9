"""`/overview` and `/config`: the driver as Flink's cluster."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter

from milepost.job.status import JobStatus
from milepost.rest.server.parameters import ServerView

router = APIRouter(tags=["cluster"])

REFRESH_MS = 3000
_RUNNING = (JobStatus.CREATED, JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.CANCELLING)


@router.get("/overview")
def overview(view: ServerView) -> dict[str, Any]:
    """Return an overview of the cluster."""
    newest = view.checkpoints().latest_completed
    return overview_body(view.job.status, len(newest.acknowledgements) if newest else 0)


@router.get("/config")
def config() -> dict[str, Any]:
    """Return the configuration of the dashboard."""
    return config_body(datetime.now().astimezone())


def overview_body(status: JobStatus, tasks: int) -> dict[str, Any]:
    """Return an overview of the cluster; a slot is a task that acknowledges checkpoints."""
    return {
        "taskmanagers": 1,
        "slots-total": tasks,
        "slots-available": 0,
        "jobs-running": int(status in _RUNNING),
        "jobs-finished": int(status is JobStatus.FINISHED),
        "jobs-cancelled": int(status is JobStatus.CANCELED),
        "jobs-failed": int(status is JobStatus.FAILED),
        "taskmanagers-blocked": 0,
        "slots-free-and-blocked": 0,
        "flink-version": version("milepost"),
        "flink-commit": "milepost",
    }


def config_body(now: datetime) -> dict[str, Any]:
    """Return the configuration of the dashboard; `now` is local time."""
    offset = now.utcoffset() or timedelta(0)
    return {
        "refresh-interval": REFRESH_MS,
        "timezone-name": now.tzname() or "UTC",
        "timezone-offset": round(offset.total_seconds() * 1000),
        "flink-version": version("milepost"),
        "flink-revision": "milepost",
        # Flink's dashboard cancels with a GET, which is refused here: no button is better than one that fails.
        "features": {"web-submit": False, "web-cancel": False, "web-rescale": False, "web-history": False},
    }
