"""Copies a plain Spark checkpoint into the directory of a job; no job starts on an incomplete copy.

The old directory is read-only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery import marker
from milepost.checkpoint.recovery.damage import fault_of
from milepost.checkpoint.store import identity
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.manifest import offsets_from_json, offsets_to_json
from milepost.checkpoint.store.relocate import location_of, relocated
from milepost.checkpoint.store.spark_log import is_temporary
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.checkpoint.versions.versions import Versions
from milepost.errors import PreflightError
from milepost.migrate.plain_spark import SparkCheckpoint, require_unchanged, still_running_error

FORMAT = 1
_FOLDERS = (names.STATE, names.SOURCES, names.COMMITS, names.OFFSETS)
_OF_THE_QUERY = (f".{names.METADATA}.crc", names.METADATA)
# Files of this command's own session and lease, and the marker of an unfinished run.
_NOT_CONTENT = (names.DRIVER_LOG, names.LEASE, names.EPOCHS, names.UNFINISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptingJob:
    """The job that resumes from the copy: what is stored in addition to Spark's files."""

    job: JobIdentity
    topic_ids: dict[str, str]
    begins: Offsets
    """The first offsets that the job reads."""
    versions: Versions | None
    command: str
    """The command to repeat after a crash."""


def require_empty(store: Store) -> None:
    """Refuse a directory that is not empty, unless its files are from an unfinished run of the same command."""
    unfinished = marker.command(store)
    if unfinished is not None and unfinished.startswith("milepost adopt "):
        return
    marker.require_finished(store)
    present = [*_content(store)]
    if present:
        raise PreflightError(
            f"{store.address('')} is not empty",
            why=f"it contains {', '.join(present[:3])}, which would be lost",
            fix="Set checkpointing.dir to a new directory, or run the job that uses this one",
        )


def take_over(source: Store, found: SparkCheckpoint, store: Store, adopting: AdoptingJob) -> int:
    """Copy the checkpoint and return the number of files. The caller must hold the lease of the target."""
    require_empty(store)
    marker.begin(store, adopting.command)
    for name in _content(store):
        store.delete_folder(name) if not store.is_file(name) else store.delete(name)
    copied, location = 0, location_of(store)
    for name in spark_files(source):
        try:
            data = relocated(name, source.read(name), location)
        except FileNotFoundError:
            raise still_running_error(found.address, f"{name} was removed during the copy") from None
        if data is not None:
            store.replace(name, data)
            copied += 1
    if adopting.versions is not None:
        versions.record(store, adopting.versions)
    identity.record(store, adopting.topic_ids)
    _record_origin(store, found, adopting)
    identity.record_job(store, adopting.job)
    require_unchanged(source, found)
    marker.end(store)
    return copied


def spark_files(store: Store) -> Iterator[str]:
    """Yield the names of Spark's files, the query's id last; temporary files of a killed query are skipped."""
    for folder in _FOLDERS:
        yield from (name for name in store.walk(folder) if not is_temporary(name.rpartition("/")[2]))
    yield from (name for name in _OF_THE_QUERY if store.is_file(name))


def read_adopted_offsets(store: Store) -> Offsets | None:
    """Return the offsets at which the job was adopted, or None if it was not adopted."""
    data = b""
    try:
        data = store.read(names.ADOPTED)
        document = json.loads(data)
        return offsets_from_json(document["begins"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PreflightError(
            f"{store.address(names.ADOPTED)} is damaged",
            why=fault_of(error, data),
            fix="Restore it from a copy; only `verify` reads it",
        ) from error


def _record_origin(store: Store, found: SparkCheckpoint, adopting: AdoptingJob) -> None:
    content = {
        "format": FORMAT,
        "from": found.address,
        "query-id": found.query_id,
        "completed": None if found.completed is None else found.completed.batch_id,
        "in-flight": found.in_flight,
        "begins": offsets_to_json(adopting.begins),
    }
    store.replace(names.ADOPTED, json.dumps(content).encode() + b"\n")


def _content(store: Store) -> Iterator[str]:
    """Yield the names in a directory, except those that do not count as content."""
    for entry in store.entries(""):
        if entry.name != names.OURS:
            yield entry.name
    for entry in store.entries(names.OURS):
        name = f"{names.OURS}/{entry.name}"
        if name not in _NOT_CONTENT:
            yield name
