"""`/taskmanagers` and `/jobmanager`: the driver as both, because no request queries Spark for its executors."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path

from milepost.config import Config
from milepost.rest.flink import task_info
from milepost.rest.flink.jobs import settings
from milepost.rest.flink.task_info import DRIVER, NOT_YET
from milepost.rest.server.parameters import RequestedView, ServerView
from milepost.rest.server.refusal import Refusal
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.job_view import JobView

router = APIRouter(tags=["cluster"])

_NO_RESOURCES: Mapping[str, Any] = {
    "cpuCores": 0.0,
    "taskHeapMemory": 0,
    "taskOffHeapMemory": 0,
    "managedMemory": 0,
    "networkMemory": 0,
    "extendedResources": {},
}
_MEMORY = (
    "frameworkHeap",
    "taskHeap",
    "frameworkOffHeap",
    "taskOffHeap",
    "networkMemory",
    "managedMemory",
    "jvmMetaspace",
    "jvmOverhead",
    "totalFlinkMemory",
    "totalProcessMemory",
)
TaskManagerId = Annotated[str, Path(max_length=256)]


@router.get("/taskmanagers")
def taskmanagers(view: ServerView) -> dict[str, Any]:
    """Return the task managers; the driver is the only one."""
    return taskmanagers_body(_tasks(view), milliseconds(view.now()))


@router.get("/taskmanagers/{taskmanagerid}")
def taskmanager(view: ServerView, taskmanagerid: TaskManagerId) -> dict[str, Any]:
    """Return the only task manager, the driver."""
    if taskmanagerid != DRIVER:
        raise Refusal(404, "The task manager does not exist.")
    return taskmanager_body(_tasks(view), milliseconds(view.now()))


@router.get("/jobmanager/config")
def config(view: ServerView) -> list[dict[str, str]]:
    """Return the settings, with secrets masked."""
    return config_body(view.config)


@router.get("/jobmanager/environment")
def environment() -> dict[str, Any]:
    """Return the runtime of the driver."""
    return environment_body()


@router.get("/jobmanager/logs")
def logs() -> dict[str, Any]:
    """Return the log files; the list is always empty, because the driver's log may contain user data."""
    return {"logs": []}


@router.get("/jobs/{jobid}/jobmanager/config")
def config_of_job(view: RequestedView) -> list[dict[str, str]]:
    """Return the settings, with secrets masked."""
    return config_body(view.config)


@router.get("/jobs/{jobid}/jobmanager/environment")
def environment_of_job(_: RequestedView) -> dict[str, Any]:
    """Return the runtime of the driver."""
    return environment_body()


def _tasks(view: JobView) -> int:
    return sum(len(vertex.subtasks) for vertex in task_info.list_vertices(view))


def taskmanagers_body(tasks: int, now: int) -> dict[str, Any]:
    """Return the driver as the only task manager."""
    return {"taskmanagers": [taskmanager_body(tasks, now)]}


def taskmanager_body(tasks: int, now: int) -> dict[str, Any]:
    """Return the driver with a slot for each task that acknowledges; unknown values are -1."""
    return {
        "id": DRIVER,
        "path": DRIVER,
        "dataPort": NOT_YET,
        "jmxPort": NOT_YET,
        "timeSinceLastHeartbeat": now,
        "slotsNumber": tasks,
        "freeSlots": 0,
        "assignedTasks": tasks,
        "totalResource": dict(_NO_RESOURCES),
        "freeResource": dict(_NO_RESOURCES),
        "hardware": {
            "cpuCores": os.cpu_count() or 0,
            "physicalMemory": NOT_YET,
            "freeMemory": NOT_YET,
            "managedMemory": 0,
        },
        "memoryConfiguration": dict.fromkeys(_MEMORY),
        "blocked": False,
    }


def config_body(config: Config) -> list[dict[str, str]]:
    """Return the settings, with secrets masked."""
    return [{"key": key, "value": value} for key, value in settings(config).items()]


def environment_body() -> dict[str, Any]:
    """Return the versions of the runtime; no options and no paths, which may be confidential."""
    runtime = f"Python {platform.python_version()}"
    return {"jvm": {"version": runtime, "arch": platform.machine(), "options": []}, "classpath": []}
