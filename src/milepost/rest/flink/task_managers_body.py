"""`/taskmanagers` and `/jobmanager`: the driver as both, since no request asks Spark for its executors."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any

from milepost.config import Config
from milepost.rest.flink.jobs_body import settings
from milepost.rest.flink.tasks_body import DRIVER, NOT_YET

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


def taskmanagers(tasks: int, now: int) -> dict[str, Any]:
    """Return the driver as the one task manager."""
    return {"taskmanagers": [taskmanager(tasks, now)]}


def taskmanager(tasks: int, now: int) -> dict[str, Any]:
    """Return the driver with a slot for each task that acknowledges; what is not known is -1."""
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


def configuration(config: Config) -> list[dict[str, str]]:
    """Return the settings; what is secret in them stays so."""
    return [{"key": key, "value": value} for key, value in settings(config).items()]


def environment() -> dict[str, Any]:
    """Return what runs the driver: the versions, and no option or path, which may hold what is nobody's business."""
    runtime = f"Python {platform.python_version()}"
    return {"jvm": {"version": runtime, "arch": platform.machine(), "options": []}, "classpath": []}
