"""Decides which files of a checkpoint directory belong to one completed checkpoint. Pure: names go in, names come out.

Of a state store only what its version needs is taken: the newest snapshot that is not newer, what has changed since,
and the shared files that the snapshot refers to.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from milepost.checkpoint.store import layout as names

KEPT_AS_THEY_ARE = (names.JOB, names.TOPICS, names.PLAN, names.VERSIONS, names.SINK)
"""Small files of Milepost that change while the job runs; they are read and not linked."""

# RocksDB: `5.zip`, `5.changelog`; filesystem: `5.snapshot`, `5.delta`; `5_<id>.zip` where stores have ids of their own.
_VERSION = re.compile(
    r"(?P<version>[0-9]{1,18})(?P<unique>_[0-9A-Za-z-]+)?\.(?P<kind>zip|snapshot|changelog|delta)"
)
_WHOLE = ("zip", "snapshot")
_SHARED = ("SSTs", "logs")
_OF_A_BATCH = re.compile(r"(?P<folder>.*/_metadata/v2)/(?P<batch>[0-9]{1,18})")
_TEMPORARY = ".tmp"

Look = Callable[[str], bytes]
"""Reads a file of the checkpoint directory."""


class IncompleteState(Exception):
    """A state store does not have what its version needs; Spark may just be removing what is old."""


@dataclass(frozen=True, slots=True)
class _Versioned:
    name: str
    version: int
    is_whole: bool
    is_unique: bool


def belonging(checkpoint_id: int, present: Iterable[str], look: Look) -> list[str]:
    """Return the files that a start from a checkpoint needs, in order of name.

    `present` are the names of Spark's files and of our manifests; `look` is asked for snapshots of RocksDB alone.
    """
    found = frozenset(present)
    wanted = {
        names.METADATA,
        names.manifest_of(checkpoint_id),
        # Spark looks at the entry before the newest one too.
        *(f"{log}/{n}" for log in (names.OFFSETS, names.COMMITS) for n in (checkpoint_id - 1, checkpoint_id)),
        *(name for name in found if name.startswith(f"{names.SOURCES}/") and not _is_beside(name)),
        *_state(checkpoint_id, found, look),
    }
    return sorted(with_checksums(wanted & found, found))


def with_checksums(wanted: Iterable[str], found: frozenset[str]) -> Iterator[str]:
    """Yield each name, and the checksums that Hadoop (`.name.crc`) or Spark (`name.crc`) keeps beside it."""
    for name in wanted:
        yield name
        folder, slash, own = name.rpartition("/")
        for beside in (f"{folder}{slash}.{own}.crc", f"{name}.crc"):
            if beside in found:
                yield beside


def _is_beside(name: str) -> bool:
    own = name.rpartition("/")[2]
    return own.endswith(".crc") or (own.startswith(".") and own.endswith(_TEMPORARY))


def _state(checkpoint_id: int, found: frozenset[str], look: Look) -> Iterator[str]:
    """Yield the files of all state stores; version V of a store is the state after batch V - 1."""
    stores: dict[str, list[_Versioned]] = defaultdict(list)
    for name in found:
        folder, _, own = name.rpartition("/")
        if not name.startswith(f"{names.STATE}/") or _is_beside(name):
            continue
        if match := _VERSION.fullmatch(own):
            is_whole = match["kind"] in _WHOLE
            stores[folder].append(
                _Versioned(name, int(match["version"]), is_whole, match["unique"] is not None)
            )
        elif folder.rpartition("/")[2] in _SHARED:
            continue  # only what a snapshot refers to
        elif not (batch := _OF_A_BATCH.fullmatch(name)) or int(batch["batch"]) <= checkpoint_id:
            yield name  # schemas and operators
    for folder, versions in stores.items():
        yield from _store(folder, checkpoint_id + 1, versions, look)


def _store(folder: str, version: int, present: Iterable[_Versioned], look: Look) -> Iterator[str]:
    older = [each for each in present if each.version <= version]
    if not older:
        return  # made by a batch that is not complete yet
    if any(each.is_unique for each in older):
        # Which one is of which lineage stands in the files themselves: all that are kept are taken.
        chosen = older
    else:
        chosen = _since_snapshot(folder, version, older)
    for each in chosen:
        yield each.name
        if each.name.endswith(".zip"):
            yield from (f"{folder}/{shared}" for shared in shared_files(look(each.name)))


def _since_snapshot(folder: str, version: int, older: list[_Versioned]) -> list[_Versioned]:
    snapshot = max((each.version for each in older if each.is_whole), default=0)
    changes = {each.version: each for each in older if not each.is_whole and each.version > snapshot}
    missing = [n for n in range(snapshot + 1, version + 1) if n not in changes]
    if missing:
        raise IncompleteState(f"{folder} has no version {missing[0]}")
    return [*(each for each in older if each.is_whole and each.version == snapshot), *changes.values()]


def shared_files(snapshot: bytes) -> list[str]:
    """Return the files beside a snapshot of RocksDB that it refers to, relative to its folder."""
    with zipfile.ZipFile(io.BytesIO(snapshot)) as archive:
        version, _, document = archive.read("metadata").decode().partition("\n")
    if version != "v1":
        raise ValueError(f"a snapshot of RocksDB says {version!r}, and v1 is the one we know")
    content = json.loads(document)
    return [
        *(f"SSTs/{each['dfsSstFileName']}" for each in content.get("sstFiles") or ()),
        *(f"logs/{each['dfsLogFileName']}" for each in content.get("logFiles") or ()),
    ]
