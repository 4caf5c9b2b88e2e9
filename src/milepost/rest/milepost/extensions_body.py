"""`/milepost/…`: what Flink has no word for. Never as extra fields of Flink's answers."""

from __future__ import annotations

from typing import Any

from milepost.checkpoint.model import PendingCheckpoint
from milepost.checkpoint.store.manifest import acknowledgement_to_json, offsets_to_json
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.rest.view.live_view import Checkpoints, Served

ACTIONS = ("checkpoint", "savepoint", "stop", "cancel")


def abilities(
    status: JobStatus,
    savepoint_dir: str | None,
    *,
    may_change: bool,
    no_changes: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Return which changes the job would accept now, the reason against each of the others, and where savepoints go."""
    reasons = {action: reason for action in ACTIONS if (reason := _refused(action, status, savepoint_dir))}
    if not may_change:
        reasons = dict.fromkeys(ACTIONS, "This token may only read.")
    if no_changes is not None:
        reasons = dict.fromkeys(ACTIONS, no_changes)
    return {
        **{action: action not in reasons for action in ACTIONS},
        "reason": reasons,
        "savepoint-dir": savepoint_dir,
        "note": note,
    }


def progress(served: Served) -> dict[str, Any]:
    """Return where the job stands: what its checkpoints add up to at one moment, and what its thread saw last."""
    job, seen = served.job, served.checkpoints()
    return {
        "job-id": job.job_id,
        "state": job.status.value,
        "restarts": job.restarts,
        "checkpoint-id": seen.newest.checkpoint_id if seen.newest else None,
        "checkpoints": _counts(seen),
        "rows": seen.run.totals["rows"],
        "rejected": dict(seen.run.rejected),
        "late": {view: seen.late_of(source) for view, source in served.config.views.items()},
        **_seen(job.latest_progress),
    }


def pending(checkpoint: PendingCheckpoint | None) -> dict[str, Any]:
    """Return the checkpoint in flight: who has acknowledged, who is missing, and how many are expected in all."""
    if checkpoint is None:
        return {"pending": None}
    return {
        "pending": {
            "id": checkpoint.checkpoint_id,
            "trigger": checkpoint.trigger.name,
            "triggered-at": checkpoint.triggered_at.isoformat(),
            "acknowledged": [acknowledgement_to_json(ack) for ack in checkpoint.acknowledged.values()],
            "missing": sorted(checkpoint.missing),
            "expected": checkpoint.expected,
        }
    }


def _refused(action: str, status: JobStatus, savepoint_dir: str | None) -> str | None:
    if status.is_terminal:
        return f"The job has ended: {status.value}."
    if status is JobStatus.CANCELLING:
        return "The job is being cancelled."
    if action == "cancel":
        return None
    if status is not JobStatus.RUNNING:
        return f"The job is {status.value}; it can be asked when it runs."
    if action in ("savepoint", "stop") and savepoint_dir is None:
        return "There is no directory for savepoints; set checkpointing.savepoint-dir."
    return None


def _counts(seen: Checkpoints) -> dict[str, Any]:
    return {
        "completed": seen.completed,
        "failed": seen.failed,
        "in-progress": int(seen.pending is not None),
        "completed-in-this-run": seen.run.completed,
        "failed-in-this-run": seen.run.failed,
        "restored-from": seen.restored.checkpoint_id if seen.restored else None,
    }


def _seen(seen: Progress | None) -> dict[str, Any]:
    return {
        "tasks": seen.tasks if seen else 0,
        "acknowledged": seen.acknowledged if seen else 0,
        "offsets": offsets_to_json(seen.position) if seen else {},
    }
