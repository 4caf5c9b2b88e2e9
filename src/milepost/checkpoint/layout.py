"""Every path under a checkpoint directory: Spark's own, which stay valid for Spark alone, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one checkpoint directory on a local file system."""

    root: Path

    @property
    def location(self) -> str:
        """What Spark is told: Hadoop takes the text after `file:` as it is and decodes no `%20`."""
        return f"file:{self.root}"

    @property
    def offsets(self) -> Path:
        """Spark's offset log: `offsets/N` is where batch N ends."""
        return self.root / "offsets"

    @property
    def commits(self) -> Path:
        """Spark's commit log: `commits/N` is there when batch N is done."""
        return self.root / "commits"

    @property
    def metadata(self) -> Path:
        """Spark's query id."""
        return self.root / "metadata"

    @property
    def ours(self) -> Path:
        """What Milepost adds; Spark ignores it."""
        return self.root / "milepost"

    @property
    def initial_offsets(self) -> Path:
        """Where Spark's first source began, written at the very first start."""
        return self.root / "sources" / "0" / "0"

    @property
    def topics(self) -> Path:
        """Which topics the checkpoint belongs to, by their ids."""
        return self.ours / "topics.json"

    @property
    def lease(self) -> Path:
        """Who runs on this directory."""
        return self.ours / "lease"

    @property
    def driver_log(self) -> Path:
        """What the driver's JVM says."""
        return self.ours / "driver.log"


def local_layout(directory: str) -> Layout | None:
    """Return the layout of a `file:` URI or a plain path, or None for a file system we do not read directly."""
    parts = urlsplit(directory)
    if parts.scheme not in ("", "file"):
        return None
    return Layout(Path(unquote(parts.path) if parts.scheme == "file" else directory))
