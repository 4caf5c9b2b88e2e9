"""`/milepost/jobs/:jobid/savepoints`: the savepoints of the configured directory, and dry runs of restores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path

from milepost.checkpoint.savepoint.check import differences
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.config import Config
from milepost.inspect.restore_check import RestoreCheck
from milepost.rest.milepost.partition_json import partition_to_json
from milepost.rest.server.parameters import RequestedView
from milepost.rest.server.refusal import Refusal
from milepost.rest.timestamps import milliseconds
from milepost.rest.view.restore_checks import RestoreCheckRun

router = APIRouter(tags=["milepost"])

SavepointName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")]


@router.get("/milepost/jobs/{jobid}/savepoints")
def savepoints(view: RequestedView) -> dict[str, Any]:
    """Return the savepoints of the configured directory."""
    monitor = view.monitor
    return savepoints_body(monitor.savepoints.savepoints(), view.config, monitor.restore_checks.last)


@router.get("/milepost/jobs/{jobid}/savepoints/{name}/check")
def check(view: RequestedView, name: SavepointName) -> dict[str, Any]:
    """Return the dry run of a restore; one starts if there is no recent result. Nothing is changed."""
    savepoint = view.monitor.savepoints.find(name)
    if savepoint is None:
        raise Refusal(404, "There is no savepoint with this name in the configured directory.")
    return check_body(view.monitor.restore_checks.get_or_start(name, savepoint))


def savepoints_body(
    savepoints: Mapping[str, Savepoint], config: Config, known: Callable[[str], RestoreCheckRun | None]
) -> dict[str, Any]:
    """Return the savepoints, newest first, with differences from the current job and the last check."""
    now = outline(config)
    return {
        "directory": config.checkpointing.savepoint_dir,
        "savepoints": [
            {
                "name": name,
                "path": each.path,
                "job": each.job_name,
                "job-id": each.job_id,
                "checkpoint": each.checkpoint_id,
                "taken-at": milliseconds(each.taken_at),
                "trigger": each.trigger.name,
                "size": each.size,
                "files": len(each.files),
                "differences": [found.what for found in differences(each, config.name, now)],
                "check": None if (done := known(name)) is None else check_body(done),
            }
            for name, each in savepoints.items()
        ],
    }


def check_body(done: RestoreCheckRun) -> dict[str, Any]:
    """Return a dry run: whether the restore would work, and the findings."""
    found = done.result
    return {
        "name": done.name,
        "status": "IN_PROGRESS" if done.ended_at is None else "COMPLETED",
        "began-at": milliseconds(done.started_at),
        "ended-at": None if done.ended_at is None else milliseconds(done.ended_at),
        "restorable": _restorable(done),
        "error": done.error,
        "findings": _findings(found) if found is not None else [],
        "replayed": found.replayed if found is not None and not found.unasked else None,
        "seconds": found.seconds if found is not None and not found.unasked else None,
        "partitions": [partition_to_json(each) for each in found.partitions] if found is not None else [],
    }


def _restorable(done: RestoreCheckRun) -> bool | None:
    """Return the verdict; None while the check runs, and if the files are intact but Kafka was not queried."""
    if done.error is not None:
        return False if done.ended_at is not None else None
    found = done.result
    if found is None:
        return None
    if found.differences or found.unrestorable:
        return False
    return None if found.unasked else True


def _findings(found: RestoreCheck) -> list[str]:
    files = len(found.savepoint.files)
    return [
        f"All {files:,} files are present and their checksums match.",
        *(f"Different: {each.what}." for each in found.differences),
        *(f"Unrestorable: {each}." for each in found.unrestorable),
        *([found.unasked] if found.unasked else []),
    ]
