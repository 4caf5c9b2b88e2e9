"""Takes a plain Spark checkpoint over into the directory of a job: whole, or in a way that no job starts on it.

The old directory is only read.
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
from milepost.migrate.plain_spark import SparkCheckpoint, require_unchanged, still_running

FORMAT = 1
_FOLDERS = (names.STATE, names.SOURCES, names.COMMITS, names.OFFSETS)
_OF_THE_QUERY = (f".{names.METADATA}.crc", names.METADATA)
# What the session and the lease of this very command leave, and what says that it has to be done again.
_NOT_CONTENT = (names.DRIVER_LOG, names.LEASE, names.EPOCHS, names.UNFINISHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What the job that goes on is told beside Spark's files."""

    job: JobIdentity
    topic_ids: dict[str, str]
    begins: Offsets
    """The first offsets that this job will read."""
    versions: Versions | None
    command: str
    """What is typed again after a death in the middle."""


def require_empty(store: Store) -> None:
    """Refuse a directory that holds something; what a death of the same command has left does not count."""
    begun = marker.command(store)
    if begun is not None and begun.startswith("milepost adopt "):
        return
    marker.require_finished(store)
    present = [*_content(store)]
    if present:
        raise PreflightError(
            f"{store.address('')} is not empty",
            why=f"it holds {', '.join(present[:3])}; the job in it would be lost",
            fix="Set checkpointing.dir to a new directory, or run the job that is there",
        )


def take_over(source: Store, found: SparkCheckpoint, store: Store, arrival: Arrival) -> int:
    """Copy everything, and return how many files it was. The lease of the target must be held."""
    require_empty(store)
    marker.begin(store, arrival.command)
    for name in _content(store):
        store.delete_folder(name) if not store.is_file(name) else store.delete(name)
    copied, location = 0, location_of(store)
    for name in spark_files(source):
        try:
            data = relocated(name, source.read(name), location)
        except FileNotFoundError:
            raise still_running(found.address, f"{name} was removed while it was copied") from None
        if data is not None:
            store.replace(name, data)
            copied += 1
    if arrival.versions is not None:
        versions.record(store, arrival.versions)
    identity.record(store, arrival.topic_ids)
    _record_origin(store, found, arrival)
    identity.record_job(store, arrival.job)
    require_unchanged(source, found)
    marker.end(store)
    return copied


def spark_files(store: Store) -> Iterator[str]:
    """Yield the names of Spark's own files, the query's id last; what a kill left half-written is passed over."""
    for folder in _FOLDERS:
        yield from (name for name in store.walk(folder) if not is_temporary(name.rpartition("/")[2]))
    yield from (name for name in _OF_THE_QUERY if store.is_file(name))


def adopted_at(store: Store) -> Offsets | None:
    """Return where the job went on from another's offsets, or None where it began by itself."""
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


def _record_origin(store: Store, found: SparkCheckpoint, arrival: Arrival) -> None:
    content = {
        "format": FORMAT,
        "from": found.address,
        "query-id": found.query_id,
        "completed": None if found.completed is None else found.completed.batch_id,
        "in-flight": found.in_flight,
        "begins": offsets_to_json(arrival.begins),
    }
    store.replace(names.ADOPTED, json.dumps(content).encode() + b"\n")


def _content(store: Store) -> Iterator[str]:
    """Yield what lies in a directory, without what does not count."""
    for entry in store.entries(""):
        if entry.name != names.OURS:
            yield entry.name
    for entry in store.entries(names.OURS):
        name = f"{names.OURS}/{entry.name}"
        if name not in _NOT_CONTENT:
            yield name
