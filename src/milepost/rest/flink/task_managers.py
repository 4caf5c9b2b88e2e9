"""The driver as Flink's job manager and its only task manager."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from milepost.rest.flink import task_managers_body, tasks_body
from milepost.rest.flink.tasks_body import DRIVER
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.server.parameters import ServedHere, ServedJob
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.live_view import Served

router = APIRouter(tags=["cluster"])

TaskManagerId = Annotated[str, Path(max_length=256)]


@router.get("/taskmanagers")
def taskmanagers(served: ServedHere) -> dict[str, Any]:
    """Return the driver as the one task manager."""
    return task_managers_body.taskmanagers(_tasks(served), milliseconds(served.now()))


@router.get("/taskmanagers/{taskmanagerid}")
def taskmanager(served: ServedHere, taskmanagerid: TaskManagerId) -> dict[str, Any]:
    """Return the one task manager."""
    if taskmanagerid != DRIVER:
        raise Refusal(404, "The task manager is not known.")
    return task_managers_body.taskmanager(_tasks(served), milliseconds(served.now()))


@router.get("/jobmanager/config")
def config(served: ServedHere) -> list[dict[str, str]]:
    """Return the settings, without secrets."""
    return task_managers_body.configuration(served.config)


@router.get("/jobmanager/environment")
def environment() -> dict[str, Any]:
    """Return what runs the driver."""
    return task_managers_body.environment()


@router.get("/jobmanager/logs")
def logs() -> dict[str, Any]:
    """Return the log files, none: the driver's log may hold what the users of a job say in it."""
    return {"logs": []}


@router.get("/jobs/{jobid}/jobmanager/config")
def config_of_job(served: ServedJob) -> list[dict[str, str]]:
    """Return the settings, without secrets."""
    return task_managers_body.configuration(served.config)


@router.get("/jobs/{jobid}/jobmanager/environment")
def environment_of_job(_: ServedJob) -> dict[str, Any]:
    """Return what runs the driver."""
    return task_managers_body.environment()


def _tasks(served: Served) -> int:
    return sum(len(vertex.subtasks) for vertex in tasks_body.vertices(served))
