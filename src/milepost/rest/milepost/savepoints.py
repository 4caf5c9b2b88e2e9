"""`/milepost/jobs/:jobid/savepoints`: what lies in the directory of savepoints, and dry runs of restores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from milepost.checkpoint.savepoint.check import differences
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.config import Config
from milepost.inspect.restore_check import RestoreCheck
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.milepost.offsets import partition
from milepost.rest.view.restore_checks import Check


def listing(
    savepoints: Mapping[str, Savepoint], config: Config, known: Callable[[str], Check | None]
) -> dict[str, Any]:
    """Return the savepoints, newest first, each with what is different about its job and its last check."""
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
                "check": None if (done := known(name)) is None else check(done),
            }
            for name, each in savepoints.items()
        ],
    }


def check(done: Check) -> dict[str, Any]:
    """Return a dry run: whether the restore would work, and all that was found."""
    found = done.rehearsal
    return {
        "name": done.name,
        "status": "IN_PROGRESS" if done.ended_at is None else "COMPLETED",
        "began-at": milliseconds(done.began_at),
        "ended-at": None if done.ended_at is None else milliseconds(done.ended_at),
        "restorable": _restorable(done),
        "error": done.error,
        "findings": _findings(found) if found is not None else [],
        "replayed": found.replayed if found is not None and not found.unasked else None,
        "seconds": found.seconds if found is not None and not found.unasked else None,
        "partitions": [partition(each) for each in found.partitions] if found is not None else [],
    }


def _restorable(done: Check) -> bool | None:
    """Return the verdict; None while there is none, and where files and job fit but the broker was not asked."""
    if done.error is not None:
        return False if done.ended_at is not None else None
    found = done.rehearsal
    if found is None:
        return None
    if found.differences or found.unrestorable:
        return False
    return None if found.unasked else True


def _findings(found: RestoreCheck) -> list[str]:
    files = len(found.savepoint.files)
    return [
        f"All {files:,} files are there, and their checksums are right.",
        *(f"Different: {each.what}." for each in found.differences),
        *(f"Gone: {each}." for each in found.unrestorable),
        *([found.unasked] if found.unasked else []),
    ]
