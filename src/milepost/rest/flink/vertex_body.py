"""`/jobs/:jobid/vertices/:vertexid` and what lies under it; all tasks of a batch share the job's state and times."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from milepost.rest.flink import tasks_body
from milepost.rest.flink.tasks_body import DRIVER, NOT_YET
from milepost.rest.flink.vertices_body import Vertex, milliseconds
from milepost.rest.view.live_view import Served


def details(served: Served, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return a vertex with each of its tasks."""
    subtasks = [_subtask(served, vertex, index, now) for index in sorted(vertex.subtasks)]
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": len(vertex.subtasks),
        "maxParallelism": NOT_YET,
        "now": milliseconds(now),
        "subtasks": subtasks,
        "aggregated": tasks_body.aggregated(
            [each["metrics"] for each in subtasks], [each["status-duration"] for each in subtasks]
        ),
    }


def subtask_times(served: Served, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return when each task came into its states."""
    times = tasks_body.times(served.job, now)
    stamps = dict.fromkeys(tasks_body.TASK_STATES, 0) | {
        tasks_body.task_state(served.job.status): times["start-time"]
    }
    return {
        "id": vertex.id,
        "name": vertex.name,
        "now": milliseconds(now),
        "subtasks": [
            {
                "subtask": index,
                "host": DRIVER,
                "endpoint": DRIVER,
                "duration": times["duration"],
                "timestamps": stamps,
            }
            for index in sorted(vertex.subtasks)
        ],
    }


def taskmanagers(served: Served, vertex: Vertex, now: datetime) -> dict[str, Any]:
    """Return where the tasks run: Spark's executors as one, since no request asks Spark."""
    state = tasks_body.task_state(served.job.status)
    times = tasks_body.times(served.job, now)
    metrics = tasks_body.io_metrics(vertex, served.job.latest_progress)
    one = {
        "host": DRIVER,
        "endpoint": DRIVER,
        "status": state,
        **times,
        "metrics": metrics,
        "status-counts": tasks_body.counts(state, len(vertex.subtasks)),
        "taskmanager-id": DRIVER,
        "aggregated": tasks_body.aggregated([metrics], [tasks_body.durations(state, times["duration"])]),
    }
    return {"id": vertex.id, "name": vertex.name, "now": milliseconds(now), "taskmanagers": [one]}


def accumulators(vertex: Vertex) -> dict[str, Any]:
    """Return the accumulators of a vertex: none."""
    return {"id": vertex.id, "user-accumulators": []}


def subtask_accumulators(vertex: Vertex) -> dict[str, Any]:
    """Return the accumulators of each task: none."""
    return {
        "id": vertex.id,
        "parallelism": len(vertex.subtasks),
        "subtasks": [
            {"subtask": index, "attempt": 0, "host": DRIVER, "endpoint": DRIVER, "user-accumulators": []}
            for index in sorted(vertex.subtasks)
        ],
    }


def back_pressure() -> dict[str, Any]:
    """Return that nobody measures it: a batch reads no faster than it writes, and nothing waits in between."""
    return {"status": "deprecated"}


def _subtask(served: Served, vertex: Vertex, index: int, now: datetime) -> dict[str, Any]:
    state = tasks_body.task_state(served.job.status)
    times = tasks_body.times(served.job, now)
    return {
        "subtask": index,
        "status": state,
        "attempt": served.job.restarts,
        "host": DRIVER,
        "endpoint": DRIVER,
        **times,
        "start_time": times["start-time"],
        "metrics": tasks_body.io_of_subtask(vertex, index),
        "taskmanager-id": DRIVER,
        "status-duration": tasks_body.durations(state, times["duration"]),
    }
