"""Records the owner of a checkpoint directory: its job and its topics.

A topic that was deleted and created again is another topic. Spark knows topics by name only and would read on in the
middle of the new one as soon as it is long enough.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.recovery.damage import fault_of
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdentity:
    """The job that a directory belongs to."""

    name: str
    job_id: str
    """Of the last run."""


def record(store: Store, topic_ids: Mapping[str, str]) -> None:
    """Record the topics' ids atomically."""
    _write(store, names.TOPICS, {"topics": dict(sorted(topic_ids.items()))})


def recorded(store: Store) -> dict[str, str]:
    """Return the ids that were written down; none where a job of plain Spark left the directory."""
    fix = "Restore it from a copy, or remove it if you know that no topic was created again"
    document = _read(store, names.TOPICS, fix)
    if document is None:
        return {}
    topics = document.get("topics")
    if not isinstance(topics, dict):
        raise _damaged(store, names.TOPICS, "it names no topics", fix)
    return {str(topic): str(topic_id) for topic, topic_id in topics.items()}


def record_job(store: Store, job: JobIdentity) -> None:
    """Record the job of the directory atomically."""
    _write(store, names.JOB, {"name": job.name, "job-id": job.job_id})


def recorded_job(store: Store) -> JobIdentity | None:
    """Return the job of the directory, or None if no Milepost job has run in it."""
    fix = "Restore it from a copy, or remove it if you know that the directory belongs to this job"
    document = _read(store, names.JOB, fix)
    if document is None:
        return None
    name, job_id = document.get("name"), document.get("job-id")
    if not isinstance(name, str) or not isinstance(job_id, str):
        raise _damaged(store, names.JOB, "it names no job", fix)
    return JobIdentity(name=name, job_id=job_id)


def _write(store: Store, name: str, content: Mapping[str, Any]) -> None:
    store.replace(name, json.dumps({"format": FORMAT, **content}).encode() + b"\n")


def _read(store: Store, name: str, fix: str) -> dict[str, Any] | None:
    data = b""
    try:
        data = store.read(name)
        document = json.loads(data)
        if not isinstance(document, dict):
            raise ValueError("it is not a JSON object")
        if document.get("format") != FORMAT:
            raise ValueError(f"its format is {document.get('format')!r}, and {FORMAT} is the one we know")
        return document
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise _damaged(store, name, fault_of(error, data), fix) from error


def _damaged(store: Store, name: str, why: str, fix: str) -> PreflightError:
    return PreflightError(f"{store.address(name)} is damaged", why=why, fix=fix)
