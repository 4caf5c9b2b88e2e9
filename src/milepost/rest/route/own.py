"""What Flink has no path for: the first page, offsets and acknowledgements as they come."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from milepost.rest.body import own
from milepost.rest.route.parameters import ServedHere, ServedJob

router = APIRouter(tags=["milepost"])

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title></head>
<body><h1>{name}</h1><p>Job {id} is {state}.</p>
<ul>{links}</ul></body></html>
"""


@router.get("/", include_in_schema=False)
def page(served: ServedHere) -> HTMLResponse:
    """Return what the job is, and where its numbers are."""
    job = f"/jobs/{served.job.job_id}"
    paths = (job, f"{job}/checkpoints", f"{job}/exceptions", f"/milepost{job}/progress", "/openapi.json")
    text = _PAGE.format(
        name=escape(served.config.name),
        id=escape(served.job.job_id),
        state=escape(served.job.status.value),
        links="".join(f'<li><a href="{escape(path)}">{escape(path)}</a></li>' for path in paths),
    )
    return HTMLResponse(text)


@router.get("/milepost/jobs/{jobid}/progress")
def progress(served: ServedJob) -> dict[str, Any]:
    """Return rows, rejected records and the next offset of every partition."""
    return own.progress(served.job)


@router.get("/milepost/jobs/{jobid}/checkpoints/pending")
def pending(served: ServedJob) -> dict[str, Any]:
    """Return the checkpoint in flight, acknowledgement by acknowledgement."""
    return own.pending(served.job.checkpoints.pending)


@router.get("/milepost/jobs/{jobid}/plan")
def plan(served: ServedJob) -> dict[str, Any]:
    """Return the start-up plan."""
    return {"plan": served.plan()}
