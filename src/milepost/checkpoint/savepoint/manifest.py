"""A savepoint's `_metadata` as bytes and back: plain JSON with a format version and checksums. Pure.

    {"format": 1, "sha256": "…", "savepoint": {"name": "savepoint-6b1e2f-0a1b2c3d4e5f", …, "files": {…}}}

It is written last: a folder without it is not a savepoint.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.recovery.damage import fault_of
from milepost.checkpoint.store.manifest import canonical
from milepost.errors import PreflightError

FORMAT = 1
METADATA = "_metadata"
IN_PROGRESS = "_inprogress"
"""Names the owner of an unfinished savepoint."""

_SUM = re.compile(r"[0-9a-f]{64}")


class SavepointTrigger(Enum):
    """Why a savepoint was taken; the first two in the words of Flink's operator."""

    MANUAL = "it was requested"
    PERIODIC = "the interval of savepoints has passed"
    STOP = "the job was stopped with it"


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One file of a savepoint."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A completed savepoint."""

    path: str
    """Its current path; it may have been moved since it was taken."""
    name: str
    checkpoint_id: CheckpointId
    trigger: SavepointTrigger
    taken_at: datetime
    """When its checkpoint completed."""
    job_name: str
    job_id: str
    directory: str
    """The checkpoint directory that it was taken of."""
    written_by: str
    """The version of Milepost."""
    outline: Mapping[str, Any] = field(default_factory=dict)
    """What the job read, made and wrote: see `outline`."""
    files: Mapping[str, SavedFile] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the bytes of all its files."""
        return sum(each.size for each in self.files.values())


def name_of(job_id: str, unique: str) -> str:
    """Return the name of a savepoint, as Flink makes it: of the job's id and of something that is only its own."""
    return f"savepoint-{job_id[:6]}-{unique[:12]}"


def owned(directory: str, job_id: str) -> bytes:
    """Return the content of the file that names the owner, so a later job may remove the savepoint."""
    return json.dumps({"format": FORMAT, "directory": directory, "job-id": job_id}).encode() + b"\n"


def to_json(savepoint: Savepoint) -> bytes:
    """Return the manifest; the path of the savepoint is not part of it."""
    text = canonical(
        {
            "name": savepoint.name,
            "checkpoint": savepoint.checkpoint_id,
            "trigger": savepoint.trigger.name,
            "taken-at": savepoint.taken_at.isoformat(),
            "job": {"name": savepoint.job_name, "id": savepoint.job_id, **savepoint.outline},
            "directory": savepoint.directory,
            "written-by": savepoint.written_by,
            "files": {
                name: {"size": each.size, "sha256": each.sha256} for name, each in savepoint.files.items()
            },
        }
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{{"format": {FORMAT}, "sha256": "{digest}", "savepoint": {text}}}\n'.encode()


def from_json(data: bytes, path: str) -> Savepoint:
    """Return the savepoint at a path, or refuse its manifest."""
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and {FORMAT} is the one we know")
        content = document["savepoint"]
        if hashlib.sha256(canonical(content).encode()).hexdigest() != document["sha256"]:
            raise ValueError("its checksum is not that of its content")
        return _savepoint(content, path)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PreflightError(
            f"{path}/{METADATA} is not the manifest of a savepoint that can be used",
            why=fault_of(error, data),
            fix="Use another savepoint, or the version of Milepost that wrote it; `milepost savepoint list` shows all",
        ) from error


def _savepoint(content: Mapping[str, Any], path: str) -> Savepoint:
    job = dict(content["job"])
    return Savepoint(
        path=path,
        name=str(content["name"]),
        checkpoint_id=CheckpointId(_number(content["checkpoint"])),
        trigger=SavepointTrigger[content["trigger"]],
        taken_at=datetime.fromisoformat(content["taken-at"]),
        job_name=str(job.pop("name")),
        job_id=str(job.pop("id")),
        directory=str(content["directory"]),
        written_by=str(content["written-by"]),
        outline=job,
        files={_inside(name): _file(name, each) for name, each in content["files"].items()},
    )


def _inside(name: str) -> str:
    """Return the name of a file if it stays below its folder, whatever system reads it."""
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") for part in parts) or any(c in name for c in "\\\0:"):
        raise ValueError(f"the name {name!r} leads out of the savepoint")
    if name in (METADATA, IN_PROGRESS):
        raise ValueError(f"it lists {name!r}, which is not part of a savepoint")
    return name


def _file(name: str, each: Mapping[str, Any]) -> SavedFile:
    if not _SUM.fullmatch(each["sha256"]):
        raise ValueError(f"the checksum of {name!r} is none")
    return SavedFile(_number(each["size"]), each["sha256"])


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value
