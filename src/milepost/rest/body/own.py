"""`/milepost/…`: what Flink has no word for. Never as extra fields of Flink's answers."""

from __future__ import annotations

from typing import Any

from milepost.checkpoint.files.manifest import acknowledgement_to_json, offsets_to_json
from milepost.checkpoint.model import PendingCheckpoint
from milepost.job.progress import Progress
from milepost.rest.served import RunningJob


def progress(job: RunningJob) -> dict[str, Any]:
    """Return where the job stands; nothing but its state until its thread has looked once."""
    return {"job-id": job.job_id, "state": job.status.value, "restarts": job.restarts, **_numbers(job.seen)}


def pending(checkpoint: PendingCheckpoint | None) -> dict[str, Any]:
    """Return the checkpoint in flight: who has acknowledged, and who is missing."""
    if checkpoint is None:
        return {"pending": None}
    return {
        "pending": {
            "id": checkpoint.checkpoint_id,
            "trigger": checkpoint.trigger.name,
            "triggered-at": checkpoint.triggered_at.isoformat(),
            "acknowledged": [acknowledgement_to_json(ack) for ack in checkpoint.acknowledged.values()],
            "missing": sorted(checkpoint.missing),
        }
    }


def _numbers(seen: Progress | None) -> dict[str, Any]:
    if seen is None:
        return {
            "checkpoint-id": None,
            "rows": 0,
            "rejected": {},
            "tasks": 0,
            "acknowledged": 0,
            "offsets": {},
        }
    return {
        "checkpoint-id": seen.checkpoint_id,
        "rows": seen.rows,
        "rejected": dict(seen.rejected),
        "tasks": seen.tasks,
        "acknowledged": seen.acknowledged,
        "offsets": offsets_to_json(seen.position),
    }
