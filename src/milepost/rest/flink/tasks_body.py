"""What Flink says of every task: its state, its times, what went through it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.flink.vertices_body import (
    SOURCE,
    Vertex,
    known_vertices,
    milliseconds,
)
from milepost.rest.view.live_view import RunningJob, Served

TASK_STATES = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
    "INITIALIZING",
)
NOT_YET = -1
DRIVER = "driver"
"""The name under which Spark's driver is an executor too; whoever runs elsewhere is not asked."""
_BEFORE_THE_END = ("CREATED", "SCHEDULED", "INITIALIZING", "DEPLOYING", "RUNNING")
_TASK_STATE = {JobStatus.RESTARTING: "CREATED", JobStatus.CANCELLING: "CANCELING"}


def task_state(status: JobStatus) -> str:
    """Return the state of the tasks of a job."""
    return _TASK_STATE.get(status, status.value)


def times(job: RunningJob, now: datetime) -> dict[str, int]:
    """Return when the job began and ended; of a running one the time until now."""
    start = min(map(milliseconds, job.moved_at.values()), default=0)
    end = milliseconds(job.moved_at.get(job.status, now)) if job.status.is_terminal else NOT_YET
    return {
        "start-time": start,
        "end-time": end,
        "duration": (milliseconds(now) if end == NOT_YET else end) - start,
    }


def vertices(served: Served) -> list[Vertex]:
    """Return the sources, and whoever takes part in the newest checkpoints: one that begins does not know all yet."""
    seen = served.checkpoints()
    sources = [Vertex(f"{SOURCE}: {view}", {0: None}) for view in served.config.views]
    return [
        *sources,
        *known_vertices(seen.latest_completed, seen.restored, seen.pending, seen.latest_failed),
    ]


def counts(state: str, tasks: int) -> dict[str, int]:
    """Return how many tasks are in each state: all in one."""
    return {name: tasks if name == state else 0 for name in TASK_STATES}


def io_metrics(vertex: Vertex, seen: Progress | None) -> dict[str, Any]:
    """Return what went through a vertex; rows are known of the writers together."""
    return _io(seen.rows if seen is not None and vertex.name.startswith("Sink") else 0)


def io_of_subtask(vertex: Vertex, index: int) -> dict[str, Any]:
    """Return what went through one task in the newest checkpoint."""
    ack = vertex.subtasks.get(index)
    return _io(ack.rows if ack is not None and vertex.name.startswith("Sink") else 0)


def durations(state: str, duration: int) -> dict[str, int]:
    """Return how long a task was in each state before its end; in the others it was not, or nobody has looked."""
    return {name: duration if name == state else NOT_YET for name in _BEFORE_THE_END}


def aggregated(
    metrics: Sequence[dict[str, Any]], statuses: Sequence[dict[str, int]]
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the distribution of every measure over some tasks."""
    measures = [name for name in _io(0) if not name.endswith("-complete")]
    return {
        "metrics": {name: _distribution([int(each[name]) for each in metrics]) for name in measures},
        "status-duration": {
            name: _distribution([each[name] for each in statuses]) for name in _BEFORE_THE_END
        },
    }


def _io(rows: int) -> dict[str, Any]:
    return {
        "read-bytes": 0,
        "read-bytes-complete": True,
        "write-bytes": 0,
        "write-bytes-complete": True,
        "read-records": rows,
        "read-records-complete": True,
        "write-records": rows,
        "write-records-complete": True,
        "accumulated-backpressured-time": 0,
        "accumulated-idle-time": 0,
        "accumulated-busy-time": 0.0,
    }


def _distribution(values: list[int]) -> dict[str, int]:
    ordered = sorted(values) or [0]
    last = len(ordered) - 1
    at = {name: ordered[round(share * last)] for name, share in _SHARES}
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "avg": sum(ordered) // len(ordered),
        "sum": sum(ordered),
        **at,
    }


_SHARES = (("median", 0.5), ("p25", 0.25), ("p75", 0.75), ("p95", 0.95))
