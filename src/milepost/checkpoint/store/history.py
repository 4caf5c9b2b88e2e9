"""The events of a job, kept over restarts: one line of JSON per event. For users; no decision depends on it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias

from milepost.checkpoint.model import (
    CheckpointId,
    CompletedCheckpoint,
    FailedBy,
    FailedCheckpoint,
    FailureReason,
    Trigger,
)
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store import manifest
from milepost.checkpoint.store.store import Store

FORMAT = 1
# Flink's web.exception-history-size.
EXCEPTIONS_KEPT = 16
_ANY = re.compile(rb"")
_ROTATE_AT = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """A change of the job's status."""

    at: datetime
    job_id: str
    status: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionEntry:
    """What ended one attempt at running the job; without secrets."""

    at: datetime
    job_id: str
    attempt: int
    what: str
    why: str = ""
    fix: str = ""
    status: str = ""
    """The job's status after it."""


Event: TypeAlias = CompletedCheckpoint | FailedCheckpoint | JobEvent
"""What the history holds; of a completed checkpoint without its states, which are in its manifest."""


class History:
    """The history of one checkpoint directory, of bounded size; may be used from several threads."""

    def __init__(self, store: Store, *, rotate_at: int = _ROTATE_AT) -> None:
        """Read nothing yet; `rotate_at` is the size in bytes at which a new file begins."""
        self._store = store
        self._rotate_at = rotate_at
        self._size: int | None = None
        self._lock = threading.Lock()

    def append(self, event: Event | ExceptionEntry) -> None:
        """Add an event; it is durable when this returns."""
        if isinstance(event, ExceptionEntry):
            with self._lock:
                self._append_exception(event)
            return
        line = _line(event)
        with self._lock:
            if self._size is None:
                self._size = self._store.size(names.HISTORY)
            if self._size and self._size + len(line) > self._rotate_at:
                self._store.move(names.HISTORY, names.OLDER_HISTORY)
                self._size = 0
            self._store.append(names.HISTORY, line)
            self._size += len(line) + 1

    def read(self, limit: int | None = None) -> list[Event]:
        """Return the newest events, newest first; a line that a crash has cut off is skipped."""
        return list(islice(self.events(), limit))

    def events(self) -> Iterator[Event]:
        """Yield the events, newest first; the rest is not read before it is needed."""
        for name in (names.HISTORY, names.OLDER_HISTORY):
            for document in self._documents(name):
                event = _parsed(_event, document)
                if event is not None:
                    yield event

    def of_checkpoint(self, checkpoint_id: int) -> list[CompletedCheckpoint | FailedCheckpoint]:
        """Return the attempts at one checkpoint, newest first: one that failed is tried again under its id."""
        # Most lines are skipped without being parsed.
        mark = re.compile(rb'"id":\s?%d\b' % checkpoint_id)
        found = (
            _parsed(_event, document)
            for name in (names.HISTORY, names.OLDER_HISTORY)
            for document in self._documents(name, mark)
        )
        return [
            event
            for event in found
            if isinstance(event, CompletedCheckpoint | FailedCheckpoint)
            and event.checkpoint_id == checkpoint_id
        ]

    def exceptions(self) -> list[ExceptionEntry]:
        """Return what ended the newest attempts, newest first."""
        parsed = (_parsed(_exception, document) for document in self._documents(names.EXCEPTIONS))
        return [entry for entry in parsed if entry is not None][:EXCEPTIONS_KEPT]

    def store_plan(self, plan: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> None:
        """Write the newest start-up plan down, in place of the one before; `settings` must be free of secrets."""
        document = {"format": FORMAT, "plan": dict(plan), "settings": dict(settings or {})}
        self._store.replace(names.PLAN, json.dumps(document, indent=2, default=str).encode() + b"\n")

    def plan(self) -> dict[str, Any] | None:
        """Return the newest start-up plan, or None where no job was started or it cannot be read."""
        return self._of_the_start("plan")

    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the newest start, without secrets; None if they were not kept."""
        return self._of_the_start("settings") or None

    def _of_the_start(self, part: str) -> dict[str, Any] | None:
        try:
            found = json.loads(self._store.read(names.PLAN))[part]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return found if isinstance(found, dict) else None

    def _append_exception(self, entry: ExceptionEntry) -> None:
        lines = self._lines(names.EXCEPTIONS)
        if len(lines) >= 2 * EXCEPTIONS_KEPT:
            self._store.replace(names.EXCEPTIONS, b"".join(line + b"\n" for line in lines[-EXCEPTIONS_KEPT:]))
        self._store.append(names.EXCEPTIONS, _line(entry))

    def _lines(self, name: str) -> list[bytes]:
        try:
            return self._store.read(name).splitlines()
        except FileNotFoundError:
            return []

    def _documents(self, name: str, mark: re.Pattern[bytes] = _ANY) -> Iterator[dict[str, Any]]:
        """Yield the documents of the lines that match the mark, newest first."""
        for line in reversed(self._lines(name)):
            document = _document_of(line) if mark.search(line) else None
            if document is not None:
                yield document


def event_of(line: bytes) -> Event | None:
    """Return the event in a line, or None if the line is cut off or holds something else."""
    document = _document_of(line)
    event: Event | None = None if document is None else _parsed(_event, document)
    return event


def _document_of(line: bytes) -> dict[str, Any] | None:
    document = _parsed(json.loads, line)
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _parsed(parse: Callable[[Any], Any], text: Any) -> Any:
    try:
        return parse(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _line(event: Event | ExceptionEntry) -> bytes:
    kind, document = _document(event)
    return json.dumps({"format": FORMAT, "event": kind, **document}, separators=(",", ":")).encode()


def _document(event: Event | ExceptionEntry) -> tuple[str, dict[str, Any]]:
    if isinstance(event, CompletedCheckpoint):
        acks = tuple(replace(ack, details={}) for ack in event.acknowledgements)
        slim = replace(event, versions={}, states={}, extra={}, acknowledgements=acks)
        return "completed-checkpoint", manifest.checkpoint_to_json(slim)
    if isinstance(event, FailedCheckpoint):
        return "failed-checkpoint", _failed_to_json(event)
    # `plan` and `traceback` are always empty; earlier versions cannot read a line without them.
    shared = {"at": event.at.isoformat(), "job-id": event.job_id, "status": event.status}
    if isinstance(event, JobEvent):
        return "job", shared | {"detail": event.detail, "plan": []}
    texts = {"what": event.what, "why": event.why, "fix": event.fix, "traceback": ""}
    return "exception", shared | {"attempt": event.attempt} | texts


def _event(document: Mapping[str, Any]) -> Event | None:
    kind = document["event"]
    if kind == "completed-checkpoint":
        return manifest.checkpoint_from_json(document)
    if kind == "failed-checkpoint":
        return _failed_from_json(document)
    if kind == "job":
        return JobEvent(
            at=datetime.fromisoformat(document["at"]),
            job_id=document["job-id"],
            status=document["status"],
            detail=document["detail"],
        )
    return None


def _failed_to_json(failed: FailedCheckpoint) -> dict[str, Any]:
    return {
        "id": failed.checkpoint_id,
        "trigger": failed.trigger.name,
        "triggered-at": failed.triggered_at.isoformat(),
        "failed-at": failed.failed_at.isoformat(),
        "reason": failed.reason.name,
        "detail": failed.detail,
        "acknowledged": failed.acknowledged,
        "waiting-for": failed.waiting_for,
        "acknowledgements": [manifest.acknowledgement_to_json(ack) for ack in failed.acknowledgements],
        "missing": list(failed.missing),
        "failed-by": [asdict(each) for each in failed.failed_by],
    }


def _failed_from_json(document: Mapping[str, Any]) -> FailedCheckpoint:
    """Return a failed checkpoint; the lines of former versions have no names."""
    acks = document.get("acknowledgements", ())
    return FailedCheckpoint(
        checkpoint_id=CheckpointId(document["id"]),
        trigger=Trigger[document["trigger"]],
        triggered_at=datetime.fromisoformat(document["triggered-at"]),
        failed_at=datetime.fromisoformat(document["failed-at"]),
        reason=FailureReason[document["reason"]],
        detail=document["detail"],
        acknowledged=document["acknowledged"],
        waiting_for=document["waiting-for"],
        acknowledgements=tuple(manifest.acknowledgement_from_json(ack) for ack in acks),
        missing=tuple(document.get("missing", ())),
        failed_by=tuple(FailedBy(**each) for each in document.get("failed-by", ())),
    )


def _exception(document: Mapping[str, Any]) -> ExceptionEntry:
    return ExceptionEntry(
        at=datetime.fromisoformat(document["at"]),
        job_id=document["job-id"],
        attempt=document["attempt"],
        what=document["what"],
        why=document["why"],
        fix=document["fix"],
        status=document["status"],
    )
