"""Reads Spark's offset and commit logs. It never writes them; it only clears away what a kill left half-written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery.damage import fault_of
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import TEMPORARY, Store
from milepost.errors import PreflightError

_OFFSETS_VERSIONS = ("v1",)
# v2 names the state stores' own checkpoints; Spark writes it when spark.sql.streaming.stateStore says so.
_COMMITS_VERSIONS = ("v1", "v2")
_RESTORE = "Restore the checkpoint directory from a copy, or start with another one"


@dataclass(frozen=True, slots=True)
class CompletedBatch:
    """The newest batch that both logs have, and where each source stood at its end."""

    batch_id: int
    sources: tuple[Offsets, ...]


def newest_completed(store: Store) -> CompletedBatch | None:
    """Return the newest batch with an entry in both logs, or None where nothing was completed yet."""
    completed = batch_ids(store, names.OFFSETS) & batch_ids(store, names.COMMITS)
    if not completed:
        return None
    batch_id = max(completed)
    return CompletedBatch(batch_id, read_offsets(store, batch_id))


def batch_ids(store: Store, log: str) -> set[int]:
    """Return the batches that have an entry in one of the two logs."""
    return {int(name) for name in store.names(log) if is_entry(name)}


def is_entry(name: str) -> bool:
    """Return whether a file of this name is an entry of a log; Spark ignores every other name."""
    return name.isascii() and name.isdigit() and len(name) <= 18 and str(int(name)) == name


def read_offsets(store: Store, batch_id: int) -> tuple[Offsets, ...]:
    """Return the offsets of each source in one entry of the offset log."""
    name = f"{names.OFFSETS}/{batch_id}"
    data = store.read(name)
    with _refuse_malformed(f"{store.address(name)} is not an entry of Spark's offset log", data):
        metadata, *sources = _lines(data, _OFFSETS_VERSIONS)
        _require_object(metadata)
        if not sources:
            raise ValueError("it names no source")
        return tuple(_source_offsets(source) for source in sources)


def read_settings(store: Store, batch_id: int) -> Mapping[str, str]:
    """Return the settings of Spark that one entry of the offset log holds."""
    name = f"{names.OFFSETS}/{batch_id}"
    data = store.read(name)
    with _refuse_malformed(f"{store.address(name)} is not an entry of Spark's offset log", data):
        settings = _require_object(_lines(data, _OFFSETS_VERSIONS)[0]).get("conf", {})
        return {str(key): str(value) for key, value in settings.items()}


def read_commit(store: Store, batch_id: int) -> Mapping[str, Any]:
    """Return one entry of the commit log. Unlike Spark, refuse one that is cut off."""
    name = f"{names.COMMITS}/{batch_id}"
    data = store.read(name)
    with _refuse_malformed(f"{store.address(name)} is not an entry of Spark's commit log", data):
        metadata, *rest = _lines(data, _COMMITS_VERSIONS)
        if rest:
            raise ValueError("it continues after its second line")
        return _require_object(metadata)


def is_committed(store: Store, batch_id: int) -> bool:
    """Return whether the commit log now has a complete entry of the batch."""
    try:
        read_commit(store, batch_id)
    except (FileNotFoundError, PreflightError):
        return False
    return True


def initial_offsets(store: Store) -> Offsets | None:
    """Return where the very first start began, by topic; Spark begins there again until a batch is logged."""
    sources = [entry.name for entry in store.entries(names.SOURCES) if entry.is_folder]
    began = [offsets for each in sources if (offsets := source_began(store, each)) is not None]
    return {topic: offsets for each in began for topic, offsets in each.items()} if began else None


def source_began(store: Store, source: int | str) -> Offsets | None:
    """Return where one source began at the very first start, or None where nothing was written down."""
    name = names.initial_offsets_of(source)
    if not store.is_file(name):
        return None
    # A zero byte stands in front, for the sake of an old Spark.
    data = store.read(name).lstrip(b"\0")
    with _refuse_malformed(f"{store.address(name)} does not say where the source began", data):
        offsets, *rest = _lines(data, _OFFSETS_VERSIONS)
        if rest:
            raise ValueError("it continues after its second line")
        return _source_offsets(offsets)


@contextmanager
def _refuse_malformed(what: str, data: bytes) -> Iterator[None]:
    """Refuse a file that Spark did not write like this; `data` is its content."""
    try:
        yield
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise PreflightError(what, why=fault_of(error, data), fix=_RESTORE) from error


def sweep_temporary_files(store: Store) -> list[str]:
    """Remove what a killed driver left half-written, and return its names.

    Spark refuses a directory for ever when `commits` holds only such a file (design.md, Traps).
    """
    folders = (names.OFFSETS, names.COMMITS, names.OURS, names.CHECKPOINTS, names.SEALED, names.EPOCHS)
    swept = [f"{folder}/{name}" for folder in folders for name in store.names(folder) if is_temporary(name)]
    for name in swept:
        store.delete(name)
    return swept


def is_temporary(name: str) -> bool:
    """Return whether a file of this name, in its folder, never got its own."""
    return name.startswith(".") and name.endswith((TEMPORARY, f"{TEMPORARY}.crc"))


def _lines(data: bytes, versions: tuple[str, ...]) -> list[str]:
    """Return the lines behind the version, of which every file of the logs has one or more."""
    # Only a line feed ends a line: JSON texts may hold the other characters that Python would split at.
    version, *lines = data.decode("utf-8").removesuffix("\n").split("\n")
    if not data:
        raise ValueError("it is empty")
    if version not in versions:
        raise ValueError(f"its version is {version[:20]!r}, and {' or '.join(versions)} is the one we know")
    if not lines:
        raise ValueError("it was cut short: nothing follows its version")
    return lines


def _require_object(line: str) -> Mapping[str, Any]:
    document = json.loads(line)
    if not isinstance(document, dict):
        raise ValueError("its second line is not a JSON object")
    return document


def _source_offsets(line: str) -> Offsets:
    if line == "-":
        return {}
    return {
        topic: {int(partition): _offset(offset) for partition, offset in partitions.items()}
        for topic, partitions in json.loads(line).items()
    }


def _offset(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not an offset")
    return value
