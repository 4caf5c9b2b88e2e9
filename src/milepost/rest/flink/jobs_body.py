"""`/jobs` and what tells of the job as a whole."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from milepost.config import Config
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.flink import operations_body, tasks_body
from milepost.rest.flink.tasks_body import NOT_YET
from milepost.rest.flink.vertices_body import Vertex, milliseconds, vertex_id
from milepost.rest.view.live_view import RunningJob, Served

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
_APPLICATION = {
    JobStatus.FINISHED: "SUCCEEDED",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FAILED: "FAILED",
}


def ids(job: RunningJob) -> dict[str, Any]:
    """Return the jobs of this server, of which there is one."""
    return {"jobs": [{"id": job.job_id, "status": job.status.value}]}


def overview(served: Served, now: datetime) -> dict[str, Any]:
    """Return the jobs with what a list shows of them."""
    job = served.job
    total = sum(len(vertex.subtasks) for vertex in tasks_body.vertices(served))
    states = tasks_body.counts(tasks_body.task_state(job.status), total)
    return {
        "jobs": [
            {
                "jid": job.job_id,
                "name": served.config.name,
                **tasks_body.times(job, now),
                "state": job.status.value,
                "last-modification": max(map(milliseconds, job.moved_at.values()), default=0),
                "tasks": {"total": total, **{name.lower(): count for name, count in states.items()}},
                "pending-operators": 0,
                "jobType": "STREAMING",
                "schedulerType": "Default",
            }
        ]
    }


def details(served: Served, now: datetime) -> dict[str, Any]:
    """Return the job with its vertices and its plan."""
    job, config = served.job, served.config
    times, state = tasks_body.times(job, now), tasks_body.task_state(job.status)
    vertices = tasks_body.vertices(served)
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
        "vertices": [_vertex(vertex, state, times, job.latest_progress) for vertex in vertices],
        "status-counts": tasks_body.counts(state, len(vertices)),
        "plan": _plan(job.job_id, config, vertices),
    }


def plan(served: Served) -> dict[str, Any]:
    """Return the dataflow alone."""
    return {"plan": _plan(served.job.job_id, served.config, tasks_body.vertices(served))}


def accumulators(*, with_serialized: bool) -> dict[str, Any]:
    """Return the accumulators, of which Spark has none that a user could name."""
    serialized: dict[str, Any] = {"serialized-user-task-accumulators": {}} if with_serialized else {}
    return {"job-accumulators": [], "user-task-accumulators": [], **serialized}


def result(job: RunningJob, now: datetime) -> dict[str, Any]:
    """Return how the job ended, once it has."""
    if not job.status.is_terminal:
        return {"status": {"id": "IN_PROGRESS"}, "job-execution-result": None}
    ended = {
        "id": job.job_id,
        "application-status": _APPLICATION[job.status],
        "accumulator-results": {},
        "net-runtime": tasks_body.times(job, now)["duration"],
    }
    if job.error is not None:
        ended["failure-cause"] = operations_body.cause(job.error)
    return {"status": {"id": "COMPLETED"}, "job-execution-result": ended}


def requirements(served: Served) -> dict[str, Any]:
    """Return the parallelism of every vertex, which is what Spark makes of it and nothing else."""
    return {
        vertex.id: {"parallelism": dict.fromkeys(("lowerBound", "upperBound"), len(vertex.subtasks))}
        for vertex in tasks_body.vertices(served)
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
            "user-config": settings(config),
        },
    }


def settings(config: Config) -> dict[str, str]:
    """Return every setting under the key that a person writes after --set, secrets masked."""
    return {key: _text(value) for key, value in _flat(config.redacted())}


def _vertex(vertex: Vertex, state: str, times: dict[str, int], seen: Progress | None) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "slotSharingGroupId": vertex_id("slot"),
        "name": vertex.name,
        "maxParallelism": NOT_YET,
        "parallelism": len(vertex.subtasks),
        "status": state,
        **times,
        "tasks": tasks_body.counts(state, len(vertex.subtasks)),
        "metrics": tasks_body.io_metrics(vertex, seen),
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


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _flat(tree: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return nested settings as dotted keys, as a person writes them after --set."""
    if isinstance(tree, dict) and tree:
        return [
            pair for key, value in tree.items() for pair in _flat(value, f"{prefix}.{key}" if prefix else key)
        ]
    return [(prefix, tree)]
