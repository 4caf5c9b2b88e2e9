"""The record that a service keeps on disk about its process, and the state that follows from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from milepost.job.process_identity import RunningProcess
from milepost.services.model import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The process of a service; without a pid only the ports of the previous run are known."""

    pid: int | None = None
    start_token: str = ""
    ready: bool = False
    since: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)


def judge(record: Record, process: RunningProcess | None, marker: str) -> State:
    """Return the state of a service from its record and from the process that has the recorded pid now."""
    if record.pid is None:
        return State.STOPPED
    if process is None or process.is_dying or not is_ours(record, process, marker):
        return State.STALE
    return State.RUNNING if record.ready else State.STARTING


def is_ours(record: Record, process: RunningProcess | None, marker: str) -> bool:
    """Return whether the process is the recorded one.

    Its pid may have been reused by another program: the start token must match, and so must the marker in the
    command line, unless the command line is empty.
    """
    if process is None or (process.pid, process.start_token) != (record.pid, record.start_token):
        return False
    return process.has_argument(marker) or not process.command


def started_at(record: Record) -> datetime | None:
    """Return when the process was started, or None if no usable time was recorded."""
    try:
        since = datetime.fromisoformat(record.since)
    except ValueError:
        return None
    return since if since.tzinfo else since.replace(tzinfo=timezone.utc)


def load(path: Path) -> Record:
    """Return the stored record; a missing, incomplete or foreign file counts as a service that was never started."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        ports = {str(name): int(port) for name, port in stored["ports"].items()}
        pid = stored["pid"]
        return Record(
            pid=int(pid) if pid is not None else None,
            start_token=str(stored["born"]),
            ready=stored["ready"] is True,
            since=str(stored["since"]),
            ports=ports,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Record()


def save(path: Path, record: Record) -> None:
    """Replace the stored record atomically: a crash leaves either the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(_document(record), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _document(record: Record) -> dict[str, object]:
    return {
        "pid": record.pid,
        "born": record.start_token,
        "ready": record.ready,
        "since": record.since,
        "ports": dict(record.ports),
    }
