"""`/jobs/:jobid/exceptions`: what ended the attempts of a job, in the fields of Flink 1.20 and of Flink 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milepost.checkpoint.store.history import ExceptionEntry
from milepost.rest.flink.vertices_body import milliseconds


def history(entries: Sequence[ExceptionEntry], job_id: str, limit: int) -> dict[str, Any]:
    """Return the newest exceptions of this run, newest first."""
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
    """Return what happened, why (with the frames of the user's code), and what to do."""
    parts = (
        entry.what,
        entry.why and f"Why: {entry.why}",
        entry.fix and f"Fix: {entry.fix}",
    )
    return "\n".join(part for part in parts if part)
