"""`/jobs` and what tells of the job as a whole."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from milepost.config import Config
from milepost.job.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.body.vertices import Vertex, milliseconds, vertex_id, vertices_of
from milepost.rest.served import Checkpoints, RunningJob, Served

# Flink's own, in the order in which it writes them.
STATES = (
    "FAILING",
    "CANCELLING",
    "INITIALIZING",
    "RECONCILING",
    "SUSPENDED",
    "FINISHED",
    "FAILED",
    "CREATED",
    "RUNNING",
    "RESTARTING",
    "CANCELED",
)
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
_TASK_STATE = {JobStatus.RESTARTING: "CREATED", JobStatus.CANCELLING: "CANCELING"}


def ids(job: RunningJob) -> dict[str, Any]:
    """Return the jobs of this server, of which there is one."""
    return {"jobs": [{"id": job.job_id, "status": job.status.value}]}


def overview(served: Served, now: datetime) -> dict[str, Any]:
    """Return the jobs with what a list shows of them."""
    job = served.job
    vertices = _vertices(served, served.checkpoints())
    tasks = Counter({task_state(job.status).lower(): sum(len(each.subtasks) for each in vertices)})
    return {
        "jobs": [
            {
                "jid": job.job_id,
                "name": served.config.name,
                **_times(job, now),
                "state": job.status.value,
                "last-modification": max(map(milliseconds, job.moved_at.values()), default=0),
                "tasks": {
                    "total": sum(tasks.values()),
                    **{state.lower(): tasks[state.lower()] for state in TASK_STATES},
                },
                "pending-operators": 0,
                "jobType": "STREAMING",
                "schedulerType": "Default",
            }
        ]
    }


def details(served: Served, now: datetime) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    job, config = served.job, served.config
    times, state = _times(job, now), task_state(job.status)
    vertices = _vertices(served, served.checkpoints())
    counts = Counter({state: len(vertices)})
    reached = {status.value: milliseconds(moment) for status, moment in job.moved_at.items()}
    return {
        "jid": job.job_id,
        "name": config.name,
        "isStoppable": False,
        "state": job.status.value,
        "job-type": "STREAMING",
        **times,
        "maxParallelism": NOT_YET,
        "now": milliseconds(now),
        "timestamps": {name: reached.get(name, 0) for name in STATES},
        "vertices": [_vertex(vertex, state, times, job.seen) for vertex in vertices],
        "status-counts": {name: counts[name] for name in TASK_STATES},
        "plan": _plan(job.job_id, config, vertices),
    }


def configuration(job_id: str, config: Config) -> dict[str, Any]:
    """Return how the job is run; what is secret in it stays so."""
    parallelism = config.spark.conf.get("spark.sql.shuffle.partitions")
    return {
        "jid": job_id,
        "name": config.name,
        "execution-config": {
            "execution-mode": "PIPELINED",
            "restart-strategy": config.restart.strategy,
            "job-parallelism": int(parallelism) if parallelism and parallelism.isdigit() else NOT_YET,
            "object-reuse-mode": False,
            "user-config": {key: str(value) for key, value in _flat(config.redacted())},
        },
    }


def task_state(status: JobStatus) -> str:
    """Return the state of the tasks of a job."""
    return _TASK_STATE.get(status, status.value)


def _times(job: RunningJob, now: datetime) -> dict[str, int]:
    start = min(map(milliseconds, job.moved_at.values()), default=0)
    end = milliseconds(job.moved_at.get(job.status, now)) if job.status.is_terminal else NOT_YET
    return {
        "start-time": start,
        "end-time": end,
        "duration": (milliseconds(now) if end == NOT_YET else end) - start,
    }


def _vertices(served: Served, seen: Checkpoints) -> list[Vertex]:
    """Return the sources, and whoever takes part in the newest checkpoint."""
    newest = seen.pending or seen.latest_completed
    sources = [Vertex(f"Source: {view}", {0: None}) for view in served.config.views]
    return [*sources, *(vertices_of(newest) if newest else ())]


def _vertex(vertex: Vertex, state: str, times: dict[str, int], seen: Progress | None) -> dict[str, Any]:
    rows = seen.rows if seen is not None and vertex.name.startswith("Sink") else 0
    return {
        "id": vertex.id,
        "slotSharingGroupId": vertex_id("slot"),
        "name": vertex.name,
        "maxParallelism": NOT_YET,
        "parallelism": len(vertex.subtasks),
        "status": state,
        **times,
        "tasks": {name: len(vertex.subtasks) if name == state else 0 for name in TASK_STATES},
        "metrics": {
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
        },
    }


def _plan(job_id: str, config: Config, vertices: list[Vertex]) -> dict[str, Any]:
    sources = [vertex for vertex in vertices if vertex.name.startswith("Source: ")]
    return {
        "jid": job_id,
        "name": config.name,
        "type": "STREAMING",
        "nodes": [_node(vertex, [] if vertex in sources else sources) for vertex in vertices],
    }


def _node(vertex: Vertex, inputs: list[Vertex]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": vertex.id,
        "parallelism": len(vertex.subtasks),
        "operator": "",
        "operator_strategy": "",
        "description": vertex.name,
        "optimizer_properties": {},
    }
    if inputs:
        edge = {"ship_strategy": "FORWARD", "exchange": "pipelined_bounded"}
        node["inputs"] = [{"num": number, "id": each.id, **edge} for number, each in enumerate(inputs)]
    return node


def _flat(tree: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return nested settings as dotted keys, as a person writes them after --set."""
    if isinstance(tree, dict) and tree:
        return [
            pair for key, value in tree.items() for pair in _flat(value, f"{prefix}.{key}" if prefix else key)
        ]
    return [(prefix, tree)]
