"""What Flink has no path for: what can be asked of the job, where it stands, how it was started."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from milepost.rest.milepost import extensions_body
from milepost.rest.server.access import Role
from milepost.rest.server.parameters import ServedHere, ServedJob

router = APIRouter(tags=["milepost"])


@router.get("/milepost/abilities")
def abilities(served: ServedHere, request: Request) -> dict[str, Any]:
    """Return what the one who asks can ask of the job now, and why the rest cannot be."""
    may_change = request.state.role is Role.ADMIN
    savepoint_dir = served.config.checkpointing.savepoint_dir
    return extensions_body.abilities(
        served.job.status,
        savepoint_dir,
        may_change=may_change,
        no_changes=served.no_changes,
        note=served.note(),
    )


@router.get("/milepost/jobs/{jobid}/progress")
def progress(served: ServedJob) -> dict[str, Any]:
    """Return rows, rejected and late records, checkpoints, and the next offset of every partition."""
    return extensions_body.progress(served)


@router.get("/milepost/jobs/{jobid}/plan")
def plan(served: ServedJob) -> dict[str, Any]:
    """Return the start-up plan."""
    return {"plan": served.plan()}
