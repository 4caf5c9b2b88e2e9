"""What one service remembers on disk about its process, and what that is worth now."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from milepost.services.model import State
from milepost.services.process import Sighting


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The process a service was started as; without a pid only the ports of last time are known."""

    pid: int | None = None
    born: str = ""
    ready: bool = False
    since: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)


def judge(record: Record, sighting: Sighting | None, marker: str) -> State:
    """Return the state of a service from its record and from what its pid is now."""
    if record.pid is None:
        return State.STOPPED
    if sighting is None or sighting.dying or not is_ours(record, sighting, marker):
        return State.STALE
    return State.RUNNING if record.ready else State.STARTING


def is_ours(record: Record, sighting: Sighting | None, marker: str) -> bool:
    """Return whether the live process is the recorded one.

    A pid alone proves nothing, it may have been given to another program: the time of birth must agree, and
    the marker in the command line as soon and as long as there is one.
    """
    if sighting is None or (sighting.pid, sighting.born) != (record.pid, record.born):
        return False
    return sighting.carries(marker) or not sighting.command


def started_at(record: Record) -> datetime | None:
    """Return when the process was started, or None where no usable time was recorded."""
    try:
        since = datetime.fromisoformat(record.since)
    except ValueError:
        return None
    return since if since.tzinfo else since.replace(tzinfo=timezone.utc)


def load(path: Path) -> Record:
    """Return the stored record; a missing, torn or foreign file is the record of a service never started."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        ports = {str(name): int(port) for name, port in stored["ports"].items()}
        pid = stored["pid"]
        return Record(
            pid=int(pid) if pid is not None else None,
            born=str(stored["born"]),
            ready=stored["ready"] is True,
            since=str(stored["since"]),
            ports=ports,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Record()


def save(path: Path, record: Record) -> None:
    """Replace the stored record in one step, so that a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(record), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
