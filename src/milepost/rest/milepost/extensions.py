"""`/milepost/…`: possible actions, progress and start-up plan. Flink's responses never get extra fields."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from milepost.checkpoint.store.manifest import offsets_to_json
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.server.access import Role
from milepost.rest.server.parameters import RequestedView, ServerView
from milepost.rest.view.job_view import Checkpoints, JobView

router = APIRouter(tags=["milepost"])

ACTIONS = ("checkpoint", "savepoint", "stop", "cancel")


@router.get("/milepost/abilities")
def abilities(view: ServerView, request: Request) -> dict[str, Any]:
    """Return the actions that the client can request now, and why the others are not possible."""
    may_change = request.state.role is Role.ADMIN
    savepoint_dir = view.config.checkpointing.savepoint_dir
    return abilities_body(
        view.job.status,
        savepoint_dir,
        may_change=may_change,
        read_only_reason=view.read_only_reason,
        note=view.note(),
    )


@router.get("/milepost/jobs/{jobid}/progress")
def progress(view: RequestedView) -> dict[str, Any]:
    """Return rows, rejected and late records, checkpoints, and the next offset of every partition."""
    return progress_body(view)


@router.get("/milepost/jobs/{jobid}/plan")
def plan(view: RequestedView) -> dict[str, Any]:
    """Return the start-up plan."""
    return {"plan": view.plan()}


def abilities_body(
    status: JobStatus,
    savepoint_dir: str | None,
    *,
    may_change: bool,
    read_only_reason: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Return the possible actions, the reason against each of the others, and the savepoint directory."""
    reasons = {
        action: reason for action in ACTIONS if (reason := _reason_against(action, status, savepoint_dir))
    }
    if not may_change:
        reasons = dict.fromkeys(ACTIONS, "This token is read-only.")
    if read_only_reason is not None:
        reasons = dict.fromkeys(ACTIONS, read_only_reason)
    return {
        **{action: action not in reasons for action in ACTIONS},
        "reason": reasons,
        "savepoint-dir": savepoint_dir,
        "note": note,
    }


def progress_body(view: JobView) -> dict[str, Any]:
    """Return a consistent summary of the checkpoints, and the progress that the job recorded last."""
    job, checkpoints = view.job, view.checkpoints()
    return {
        "job-id": job.job_id,
        "state": job.status.value,
        "restarts": job.restarts,
        "checkpoint-id": checkpoints.newest.checkpoint_id if checkpoints.newest else None,
        "checkpoints": _counts(checkpoints),
        "rows": checkpoints.run.totals["rows"],
        "rejected": dict(checkpoints.run.rejected),
        "late": {name: checkpoints.count_late(source) for name, source in view.config.views.items()},
        **_progress_fields(job.latest_progress),
    }


def _reason_against(action: str, status: JobStatus, savepoint_dir: str | None) -> str | None:
    if status.is_terminal:
        return f"The job has ended: {status.value}."
    if status is JobStatus.CANCELLING:
        return "The job is being cancelled."
    if action == "cancel":
        return None
    if status is not JobStatus.RUNNING:
        return f"The job is {status.value}; this is possible only while it is RUNNING."
    if action in ("savepoint", "stop") and savepoint_dir is None:
        return "No savepoint directory is configured; set checkpointing.savepoint-dir."
    return None


def _counts(checkpoints: Checkpoints) -> dict[str, Any]:
    return {
        "completed": checkpoints.completed,
        "failed": checkpoints.failed,
        "in-progress": int(checkpoints.pending is not None),
        "completed-in-this-run": checkpoints.run.completed,
        "failed-in-this-run": checkpoints.run.failed,
        "restored-from": checkpoints.restored.checkpoint_id if checkpoints.restored else None,
    }


def _progress_fields(progress: Progress | None) -> dict[str, Any]:
    return {
        "tasks": progress.tasks if progress else 0,
        "acknowledged": progress.acknowledged if progress else 0,
        "offsets": offsets_to_json(progress.position) if progress else {},
    }
