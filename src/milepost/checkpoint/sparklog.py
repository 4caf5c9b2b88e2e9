"""Reads Spark's offset and commit logs. It never writes them; it only clears away what a kill left half-written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from milepost.checkpoint.layout import Layout
from milepost.checkpoint.model import Offsets
from milepost.errors import PreflightError


@dataclass(frozen=True, slots=True)
class CompletedBatch:
    """The newest batch that both logs have, and where each source stood at its end."""

    batch_id: int
    sources: tuple[Offsets, ...]


def newest_completed(layout: Layout) -> CompletedBatch | None:
    """Return the newest batch with an entry in both logs, or None where nothing was completed yet."""
    completed = _batch_ids(layout.offsets) & _batch_ids(layout.commits)
    if not completed:
        return None
    batch_id = max(completed)
    return CompletedBatch(batch_id, read_offsets(layout.offsets / str(batch_id)))


def read_offsets(path: Path) -> tuple[Offsets, ...]:
    """Return what one entry of the offset log says of each source."""
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        version, _metadata, *sources = lines
        if version != "v1":
            raise ValueError(f"its version is {version!r}, and v1 is the one we know")
        if not sources:
            raise ValueError("it names no source")
        return tuple(_source_offsets(source) for source in sources)
    except (ValueError, AttributeError) as error:
        raise PreflightError(
            f"{path} is no entry of Spark's offset log",
            why=str(error),
            fix="Restore the checkpoint directory from a copy, or start with another one",
        ) from error


def initial_offsets(layout: Layout) -> Offsets | None:
    """Return where the very first start began; Spark begins there again until a batch is logged."""
    path = layout.initial_offsets
    if not path.is_file():
        return None
    try:
        # A zero byte stands in front, for the sake of an old Spark.
        version, offsets = path.read_text(encoding="utf-8").lstrip("\0").splitlines()
        if version != "v1":
            raise ValueError(f"its version is {version!r}, and v1 is the one we know")
        return _source_offsets(offsets)
    except (ValueError, AttributeError) as error:
        raise PreflightError(
            f"{path} does not say where the source began",
            why=str(error),
            fix="Restore the checkpoint directory from a copy, or start with another one",
        ) from error


def sweep_temporary_files(layout: Layout) -> list[Path]:
    """Remove what a killed driver left half-written in the logs, and return it.

    Spark refuses a directory for ever when `commits` holds only such a file (design.md, Traps).
    """
    swept = [
        path
        for log in (layout.offsets, layout.commits)
        if log.is_dir()
        for path in log.iterdir()
        if path.name.startswith(".") and path.name.endswith((".tmp", ".tmp.crc"))
    ]
    for path in swept:
        path.unlink(missing_ok=True)
    return swept


def _batch_ids(log: Path) -> set[int]:
    if not log.is_dir():
        return set()
    return {int(path.name) for path in log.iterdir() if path.name.isdigit() and path.is_file()}


def _source_offsets(line: str) -> Offsets:
    if line == "-":
        return {}
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in json.loads(line).items()
    }
