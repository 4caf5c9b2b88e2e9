"""`/jobs/:jobid/exceptions`: the failures of a job's attempts, in the fields of Flink 1.20 and of Flink 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query

from milepost.checkpoint.store.history import ExceptionEntry
from milepost.rest.server.parameters import RequestedView
from milepost.rest.timestamps import milliseconds

router = APIRouter(tags=["jobs"])


@router.get("/jobs/{jobid}/exceptions")
def failures(
    view: RequestedView, limit: Annotated[int, Query(alias="maxExceptions", ge=0, le=1000)] = 20
) -> dict[str, Any]:
    """Return the failures of the job's attempts."""
    return exceptions_body(view.exceptions(), view.job.job_id, limit)


def exceptions_body(entries: Sequence[ExceptionEntry], job_id: str, limit: int) -> dict[str, Any]:
    """Return the exceptions of this run, newest first."""
    own = [entry for entry in entries if entry.job_id == job_id]
    shown = [_entry(entry) for entry in own[:limit]]
    truncated = len(own) > limit
    root = shown[0] if shown else None
    return {
        "root-exception": root and root["stacktrace"],
        "timestamp": root and root["timestamp"],
        "all-exceptions": [_former(entry) for entry in own[:limit]],
        "truncated": truncated,
        "exceptionHistory": {"entries": shown, "truncated": truncated},
    }


def _entry(entry: ExceptionEntry) -> dict[str, Any]:
    return {
        "exceptionName": entry.what,
        "stacktrace": _text(entry),
        "timestamp": milliseconds(entry.at),
        "failureLabels": {},
        "concurrentExceptions": [],
    }


def _former(entry: ExceptionEntry) -> dict[str, Any]:
    return {
        "exception": _text(entry),
        "task": None,
        "location": None,
        "endpoint": None,
        "timestamp": milliseconds(entry.at),
        "taskManagerId": None,
    }


def _text(entry: ExceptionEntry) -> str:
    """Return the error, its cause and its fix, followed by the traceback of user code."""
    parts = (
        entry.what,
        entry.why and f"Why: {entry.why}",
        entry.fix and f"Fix: {entry.fix}",
    )
    return "\n".join(part for part in parts if part)
