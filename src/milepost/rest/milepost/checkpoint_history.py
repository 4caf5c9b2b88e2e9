"""What Flink does not tell of checkpoints: everybody by name, every attempt, and as far back as the history goes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.checkpoint.model import PendingCheckpoint
from milepost.checkpoint.stats.counts import Ended
from milepost.rest.milepost import checkpoint_history_body, extensions_body
from milepost.rest.server.parameters import CheckpointNumber, ServedJob
from milepost.rest.server.refusal import Refusal

router = APIRouter(tags=["milepost"])


@router.get("/milepost/jobs/{jobid}/participants")
def participants(served: ServedJob) -> dict[str, Any]:
    """Return who acknowledges checkpoints, with the newest word of each."""
    return checkpoint_history_body.participants(served.checkpoints())


@router.get("/milepost/jobs/{jobid}/checkpoints/pending")
def pending(served: ServedJob) -> dict[str, Any]:
    """Return the checkpoint in flight, acknowledgement by acknowledgement."""
    return extensions_body.pending(served.job.checkpoints.pending)


@router.get("/milepost/jobs/{jobid}/checkpoints/history")
def history(
    served: ServedJob,
    before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Return checkpoints of the durable history, newest first; `before` is `next-before` of the page before."""
    return checkpoint_history_body.history(served.ended(), before, limit)


@router.get("/milepost/jobs/{jobid}/checkpoints/{checkpointid}")
def checkpoint(served: ServedJob, checkpointid: CheckpointNumber) -> dict[str, Any]:
    """Return the whole story of one checkpoint: who acknowledged, who was missing, who made it fail and why."""
    running = served.job.checkpoints.pending
    found: list[Ended | PendingCheckpoint] = [*served.attempts(checkpointid)]
    if running is not None and running.checkpoint_id == checkpointid:
        found.insert(0, running)
    if not found:
        raise Refusal(404, f"Could not find checkpoint {checkpointid}.")
    return checkpoint_history_body.attempts(checkpointid, found)
