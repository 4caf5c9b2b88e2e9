"""Every path under a checkpoint directory: Spark's own, which stay valid for Spark alone, and ours beside them.

The names are relative to the directory, so that they are the same on every file system.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

OFFSETS = "offsets"
COMMITS = "commits"
SOURCES = "sources"
STATE = "state"
METADATA = "metadata"

OURS = "milepost"
JOB = f"{OURS}/job.json"
LEASE = f"{OURS}/lease"
EPOCHS = f"{OURS}/epochs"
TOPICS = f"{OURS}/topics.json"
PLAN = f"{OURS}/plan.json"
VERSIONS = f"{OURS}/versions.json"
SINK = f"{OURS}/sink.json"
ADOPTED = f"{OURS}/adopted.json"
UNFINISHED = f"{OURS}/unfinished.json"
SEALED = f"{OURS}/sealed"
CHECKPOINTS = f"{OURS}/checkpoints"
HISTORY = f"{OURS}/history.jsonl"
OLDER_HISTORY = f"{OURS}/history.1.jsonl"
EXCEPTIONS = f"{OURS}/exceptions.jsonl"
AUDIT = f"{OURS}/audit.jsonl"
OLDER_AUDIT = f"{OURS}/audit.1.jsonl"
REFUSED = f"{OURS}/refused.jsonl"
OLDER_REFUSED = f"{OURS}/refused.1.jsonl"
DAMAGED = f"{OURS}/damaged"
DISCARDED = f"{OURS}/discarded"
ROLLED_BACK = f"{OURS}/rolled-back"
STAGING = f"{OURS}/staging"
PINNED = f"{OURS}/pinned"
RESTORING = f"{OURS}/restoring.json"
DRIVER_LOG = f"{OURS}/driver.log"


def initial_offsets_of(source: int | str) -> str:
    """Return the name of the file in which Spark keeps where a source began at the very first start."""
    return f"{SOURCES}/{source}/0"


def manifest_of(checkpoint_id: int) -> str:
    """Return the name of a completed checkpoint's manifest."""
    return f"{CHECKPOINTS}/{checkpoint_id}.json"


def sealed_of(checkpoint_id: int) -> str:
    """Return the name of the file that holds a checkpoint between steps 6 and 8."""
    return f"{SEALED}/{checkpoint_id}.json"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one checkpoint directory on a local file system."""

    root: Path

    @property
    def location(self) -> str:
        """The location for Spark. Hadoop uses the text after `file:` verbatim and does not decode `%20`."""
        return f"file:{self.root}"

    @property
    def offsets(self) -> Path:
        """Spark's offset log: `offsets/N` is where batch N ends."""
        return self.root / OFFSETS

    @property
    def commits(self) -> Path:
        """Spark's commit log: `commits/N` is there when batch N is done."""
        return self.root / COMMITS

    @property
    def metadata(self) -> Path:
        """Spark's query id."""
        return self.root / METADATA

    @property
    def ours(self) -> Path:
        """What Milepost adds; Spark ignores it."""
        return self.root / OURS

    @property
    def initial_offsets(self) -> Path:
        """Where Spark's first source began, written at the very first start."""
        return self.root / initial_offsets_of(0)

    @property
    def topics(self) -> Path:
        """Which topics the checkpoint belongs to, by their ids."""
        return self.root / TOPICS

    @property
    def lease(self) -> Path:
        """The driver that runs on this directory."""
        return self.root / LEASE

    @property
    def driver_log(self) -> Path:
        """The log of the driver's JVM."""
        return self.root / DRIVER_LOG


def absolute_directory(directory: str) -> str:
    """Return a configured directory as an absolute path; a URI is returned unchanged."""
    scheme, separator, _ = directory.partition(":")
    if separator and scheme.isalnum():
        return directory
    return os.path.abspath(Path(directory).expanduser())


def local_layout(directory: str) -> Layout | None:
    """Return the layout of a `file:` URI or a plain path, or None for another file system."""
    parts = urlsplit(directory)
    if parts.scheme not in ("", "file"):
        return None
    return Layout(Path(unquote(parts.path) if parts.scheme == "file" else directory))
