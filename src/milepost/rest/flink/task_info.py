"""The fields that Flink has for every task: state, times, I/O metrics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.flink.job_vertex import SOURCE, Vertex, merge_vertices
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import JobView, RunningJob

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
"""The executor id of Spark's driver. Executors on other machines are not queried."""
_BEFORE_THE_END = ("CREATED", "SCHEDULED", "INITIALIZING", "DEPLOYING", "RUNNING")
_TASK_STATE = {JobStatus.RESTARTING: "CREATED", JobStatus.CANCELLING: "CANCELING"}


def task_state(status: JobStatus) -> str:
    """Return the state of the tasks of a job."""
    return _TASK_STATE.get(status, status.value)


def job_times(job: RunningJob, now: datetime) -> dict[str, int]:
    """Return when the job started and ended, and its duration so far."""
    start = min(map(milliseconds, job.moved_at.values()), default=0)
    end = milliseconds(job.moved_at.get(job.status, now)) if job.status.is_terminal else NOT_YET
    return {
        "start-time": start,
        "end-time": end,
        "duration": (milliseconds(now) if end == NOT_YET else end) - start,
    }


def list_vertices(view: JobView) -> list[Vertex]:
    """Return the sources and the participants of the newest checkpoints; one in flight does not name all yet."""
    checkpoints = view.checkpoints()
    sources = [Vertex(f"{SOURCE}: {name}", {0: None}) for name in view.config.views]
    newest = (
        checkpoints.latest_completed,
        checkpoints.restored,
        checkpoints.pending,
        checkpoints.latest_failed,
    )
    return [*sources, *merge_vertices(*newest)]


def count_by_state(state: str, tasks: int) -> dict[str, int]:
    """Return the number of tasks in each state; all are in the same one."""
    return {name: tasks if name == state else 0 for name in TASK_STATES}


def vertex_io(vertex: Vertex, progress: Progress | None) -> dict[str, Any]:
    """Return the I/O metrics of a vertex; rows are known only for all writers together."""
    return _io(progress.rows if progress is not None and vertex.name.startswith("Sink") else 0)


def subtask_io(vertex: Vertex, index: int) -> dict[str, Any]:
    """Return the I/O metrics of one task in the newest checkpoint."""
    ack = vertex.subtasks.get(index)
    return _io(ack.rows if ack is not None and vertex.name.startswith("Sink") else 0)


def state_durations(state: str, duration: int) -> dict[str, int]:
    """Return the time of a task in each state before its end; -1 for states that it was not in."""
    return {name: duration if name == state else NOT_YET for name in _BEFORE_THE_END}


def aggregate_tasks(
    metrics: Sequence[dict[str, Any]], statuses: Sequence[dict[str, int]]
) -> dict[str, dict[str, dict[str, int]]]:
    """Return the distribution of every measure over several tasks."""
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
    at = {name: ordered[round(share * last)] for name, share in _QUANTILES}
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "avg": sum(ordered) // len(ordered),
        "sum": sum(ordered),
        **at,
    }


_QUANTILES = (("median", 0.5), ("p25", 0.25), ("p75", 0.75), ("p95", 0.95))
