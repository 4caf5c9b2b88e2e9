"""Lets a state operator find its files after its directory was copied to another path.

The operator of `transformWithState` keeps the paths of its schemas in full in its metadata.
"""

from __future__ import annotations

import json
import re

from milepost.checkpoint.store.store import LocalStore, Store

_OPERATOR = re.compile(r"state/[0-9]+/_metadata/v2/[0-9]+")
_CHECKSUM = re.compile(r"state/[0-9]+/_metadata/v2/\.[0-9]+\.crc")
_SCHEMA_PATH = re.compile(r'"[^"]*?/(state/[0-9]+/_stateSchema/[^"]*)"')


def has_paths(name: str) -> bool:
    """Return whether a file, or the one whose checksum it is, is another one in another directory."""
    return _OPERATOR.fullmatch(name) is not None or _CHECKSUM.fullmatch(name) is not None


def relocated(name: str, data: bytes, location: str) -> bytes | None:
    """Return what a file of Spark's holds in another checkpoint directory; None where it must not come along.

    `location` is that directory as Spark knows it.
    """
    if _CHECKSUM.fullmatch(name):
        return None  # it would be that of the old content; Hadoop does without
    if not _OPERATOR.fullmatch(name):
        return data
    paths = _SCHEMA_PATH.sub(lambda found: json.dumps(f"{location}/{found[1]}"), data.decode("utf-8"))
    return paths.encode("utf-8")


def location_of(store: Store) -> str:
    """Return a directory as Spark knows it."""
    if isinstance(store, LocalStore):
        return f"file:{store.root.absolute()}"
    return store.address("").rstrip("/")
