"""Looks at the checkpoint directory of a plain Spark query, and refuses what cannot be gone on with. It only reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery.preflight import find_damage, read_logs
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.identity import recorded_job
from milepost.checkpoint.store.operators import recorded_operators
from milepost.checkpoint.store.spark_log import CompletedBatch, newest_completed, read_offsets
from milepost.checkpoint.store.store import Store
from milepost.errors import NotReachableError, PreflightError

_SPARKS = (names.METADATA, names.OFFSETS, names.COMMITS)
_LOG_VERSIONS = ("v1",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCheckpoint:
    """What the directory of a plain Spark query holds."""

    address: str
    query_id: str
    sources: tuple[Offsets, ...]
    """Of the newest entry of the offset log, in Spark's order."""
    completed: CompletedBatch | None
    in_flight: int | None
    """The batch that was begun and is not committed; whoever goes on runs it again."""
    looked_at_ms: int
    """When Spark wrote the newest entry: the topics had so many partitions then."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings of Spark that the newest entry has fixed."""
    operators: tuple[str, ...] = ()
    """The operators with state, by their number."""
    names: frozenset[str] = frozenset()
    """What lay in the two logs: where it changes, a query still runs."""


def look(store: Store) -> SparkCheckpoint:
    """Return what the directory holds, or refuse it with the reason."""
    _require_directory(store)
    logs = read_logs(store)
    if not logs.offsets:
        raise PreflightError(
            f"There is nothing to take over in {store.address('')}",
            why="Spark's offset log in it has no entry: the query has never begun a batch",
            fix="Run the pipeline without adopting, with source.kafka.start where the query began",
        )
    newest = max(logs.offsets)
    metadata, lines = _entry(store, newest)
    for number, line in enumerate(lines):
        _require_kafka(store, newest, number, line)
    _require_whole(store)
    completed = newest_completed(store)
    return SparkCheckpoint(
        address=store.address(""),
        query_id=str(json.loads(store.read(names.METADATA))["id"]),
        sources=read_offsets(store, newest),
        completed=completed,
        in_flight=None if completed is not None and completed.batch_id == newest else newest,
        looked_at_ms=int(metadata.get("batchTimestampMs", 0)),
        settings={str(key): str(value) for key, value in metadata.get("conf", {}).items()},
        operators=recorded_operators(store),
        names=log_names(store),
    )


def log_names(store: Store) -> frozenset[str]:
    """Return every name in Spark's two logs, half-written ones included."""
    return frozenset(f"{log}/{name}" for log in (names.OFFSETS, names.COMMITS) for name in store.names(log))


def require_unchanged(store: Store, found: SparkCheckpoint) -> None:
    """Refuse a directory in which something was written since it was looked at."""
    changed = sorted(log_names(store) ^ found.names)
    if changed:
        raise still_running(found.address, f"{changed[0]} was written or removed while it was read")


def still_running(address: str, why: str) -> PreflightError:
    """Return the refusal of a directory that somebody writes to."""
    return PreflightError(
        f"A query still runs on {address}",
        why=f"{why}; two jobs would go on from the same place",
        fix="Stop the query first, wait until its process has ended, and run this again",
    )


def _require_directory(store: Store) -> None:
    if store.is_file(""):
        raise PreflightError(
            f"{store.address('')} is a file, and a Spark checkpoint is a directory",
            fix="Give the directory that the query has as its checkpointLocation",
        )
    job = recorded_job(store)
    if job is not None:
        raise PreflightError(
            f"{store.address('')} is already the checkpoint directory of the Milepost job {job.name!r}",
            why=f"{names.JOB} in it says so",
            fix="Set checkpointing.dir to it and run the job, or take a savepoint and run --from-savepoint",
        )
    missing = [name for name in _SPARKS if not store.exists(name)]
    if len(missing) == len(_SPARKS):
        raise NotReachableError(
            f"{store.address('')} is no checkpoint of a Spark query",
            why=f"it has neither {', '.join(_SPARKS[:-1])} nor {_SPARKS[-1]}, or it is not there",
            fix="Give the directory that the query has as its checkpointLocation",
        )


def _entry(store: Store, batch_id: int) -> tuple[Mapping[str, Any], list[str]]:
    """Return the metadata and the sources of an entry of the offset log, before anything is known of the sources."""
    name = f"{names.OFFSETS}/{batch_id}"
    version, *lines = store.read(name).decode("utf-8", "replace").removesuffix("\n").split("\n")
    if version not in _LOG_VERSIONS:
        raise PreflightError(
            f"{store.address(name)} has the format {version[:20]!r}",
            why=f"Milepost knows {', '.join(_LOG_VERSIONS)}; another one is written by another Spark, or by "
            "spark.sql.streaming.queryEvolution.enableSourceEvolution",
            fix="Run the query without that setting from a checkpoint of its own, or begin anew at given offsets: "
            "source.kafka.start: {offsets: …}",
        )
    try:
        metadata = json.loads(lines[0])
        if not isinstance(metadata, dict) or not lines[1:]:
            raise ValueError
    except (ValueError, IndexError):
        raise PreflightError(
            f"{store.address(name)} is no entry of Spark's offset log",
            why="it was cut short, or is not what Spark writes",
            fix="Restore the checkpoint directory from a copy",
        ) from None
    return metadata, lines[1:]


def _require_kafka(store: Store, batch_id: int, number: int, line: str) -> None:
    kind = kind_of(line)
    if kind is not None:
        raise PreflightError(
            f"Source {number} of the query in {store.address('')} is not Kafka: {kind}",
            why=f"{names.OFFSETS}/{batch_id} has {line[:60]!r} for it, and offsets of Kafka are "
            '{"topic": {"partition": offset}}',
            fix="Only a query all of whose sources are format('kafka') can be taken over",
        )


def kind_of(line: str) -> str | None:
    """Return what kind of source wrote a line of the offset log; None for Kafka, or for one without offsets yet."""
    if line.strip() == "-":
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return "it is no JSON"
    if isinstance(document, int):
        return "the rate or the socket source counts like this"
    if not isinstance(document, dict):
        return "it is of a source that Milepost does not know"
    for key, kind in (
        ("logOffset", "files"),
        ("reservoirId", "a Delta table"),
        ("snapshot_id", "an Iceberg table"),
    ):
        if key in document:
            return f"it reads {kind}"
    is_kafka = all(isinstance(parts, dict) and _are_offsets(parts) for parts in document.values())
    return None if is_kafka and document else "it is of a source that Milepost does not know"


def _are_offsets(partitions: Mapping[str, Any]) -> bool:
    return bool(partitions) and all(
        key.isdigit() and isinstance(offset, int) and not isinstance(offset, bool)
        for key, offset in partitions.items()
    )


def _require_whole(store: Store) -> None:
    damage = find_damage(store, job_name="")
    if damage:
        first = damage[0]
        raise PreflightError(f"{store.address(first.name)} {first.what}", why=first.why, fix=first.fix)
