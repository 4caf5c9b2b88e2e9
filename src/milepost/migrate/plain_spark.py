"""Inspects the checkpoint directory of a plain Spark query, read-only, and refuses one that cannot be resumed from."""

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

_SPARK_ENTRIES = (names.METADATA, names.OFFSETS, names.COMMITS)
_LOG_VERSIONS = ("v1",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCheckpoint:
    """The contents of the checkpoint directory of a plain Spark query."""

    address: str
    query_id: str
    sources: tuple[Offsets, ...]
    """The offsets in the newest entry of the offset log, in Spark's order."""
    completed: CompletedBatch | None
    in_flight: int | None
    """The batch that was started but not committed; a resuming job repeats it."""
    newest_batch_ms: int
    """When Spark wrote the newest entry, which covers the partitions of that time."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The Spark settings pinned by the newest entry."""
    operators: tuple[str, ...] = ()
    """The stateful operators, ordered by id."""
    names: frozenset[str] = frozenset()
    """The file names in the two logs: if they change, a query is still running."""


def inspect_checkpoint(store: Store) -> SparkCheckpoint:
    """Return the contents of the directory; raise if it cannot be resumed from."""
    _require_directory(store)
    logs = read_logs(store)
    if not logs.offsets:
        raise PreflightError(
            f"There is nothing to adopt in {store.address('')}",
            why="Spark's offset log in it has no entry: the query never started a batch",
            fix="Run the pipeline without adopting, with source.kafka.start set to where the query started",
        )
    newest = max(logs.offsets)
    metadata, lines = _read_entry(store, newest)
    for number, line in enumerate(lines):
        _require_kafka(store, newest, number, line)
    _require_intact(store)
    completed = newest_completed(store)
    return SparkCheckpoint(
        address=store.address(""),
        query_id=str(json.loads(store.read(names.METADATA))["id"]),
        sources=read_offsets(store, newest),
        completed=completed,
        in_flight=None if completed is not None and completed.batch_id == newest else newest,
        newest_batch_ms=int(metadata.get("batchTimestampMs", 0)),
        settings={str(key): str(value) for key, value in metadata.get("conf", {}).items()},
        operators=recorded_operators(store),
        names=list_logs(store),
    )


def list_logs(store: Store) -> frozenset[str]:
    """Return every file name in Spark's two logs, including temporary files."""
    return frozenset(f"{log}/{name}" for log in (names.OFFSETS, names.COMMITS) for name in store.names(log))


def require_unchanged(store: Store, found: SparkCheckpoint) -> None:
    """Refuse a directory that has changed since it was inspected."""
    changed = sorted(list_logs(store) ^ found.names)
    if changed:
        raise still_running_error(found.address, f"{changed[0]} was written or removed during the copy")


def still_running_error(address: str, why: str) -> PreflightError:
    """Return the error for a directory that a query still writes to."""
    return PreflightError(
        f"A query is still running on {address}",
        why=f"{why}; two jobs would resume from the same offsets",
        fix="Stop the query, wait until its process has ended, and run this command again",
    )


def _require_directory(store: Store) -> None:
    if store.is_file(""):
        raise PreflightError(
            f"{store.address('')} is a file, but a Spark checkpoint is a directory",
            fix="Specify the directory that is the query's checkpointLocation",
        )
    job = recorded_job(store)
    if job is not None:
        raise PreflightError(
            f"{store.address('')} is already the checkpoint directory of the Milepost job {job.name!r}",
            why=f"it contains {names.JOB}",
            fix="Set checkpointing.dir to it and run the job, or take a savepoint and run --from-savepoint",
        )
    missing = [name for name in _SPARK_ENTRIES if not store.exists(name)]
    if len(missing) == len(_SPARK_ENTRIES):
        raise NotReachableError(
            f"{store.address('')} is not a checkpoint of a Spark query",
            why=f"it has neither {', '.join(_SPARK_ENTRIES[:-1])} nor {_SPARK_ENTRIES[-1]}, or it does not exist",
            fix="Specify the directory that is the query's checkpointLocation",
        )


def _read_entry(store: Store, batch_id: int) -> tuple[Mapping[str, Any], list[str]]:
    """Return the metadata and the source lines of an entry of the offset log; the lines are not parsed."""
    name = f"{names.OFFSETS}/{batch_id}"
    version, *lines = store.read(name).decode("utf-8", "replace").removesuffix("\n").split("\n")
    if version not in _LOG_VERSIONS:
        raise PreflightError(
            f"{store.address(name)} has the format {version[:20]!r}",
            why=f"Milepost supports {', '.join(_LOG_VERSIONS)}; others are written by other Spark versions, or with "
            "spark.sql.streaming.queryEvolution.enableSourceEvolution",
            fix="Run the query without that setting from a new checkpoint, or start from scratch at given offsets: "
            "source.kafka.start: {offsets: …}",
        )
    try:
        metadata = json.loads(lines[0])
        if not isinstance(metadata, dict) or not lines[1:]:
            raise ValueError
    except (ValueError, IndexError):
        raise PreflightError(
            f"{store.address(name)} is not an entry of Spark's offset log",
            why="it is truncated, or was not written by Spark",
            fix="Restore the checkpoint directory from a copy",
        ) from None
    return metadata, lines[1:]


def _require_kafka(store: Store, batch_id: int, number: int, line: str) -> None:
    kind = describe_other_source(line)
    if kind is not None:
        raise PreflightError(
            f"Source {number} of the query in {store.address('')} is not Kafka: {kind}",
            why=f"{names.OFFSETS}/{batch_id} has {line[:60]!r} for it, but Kafka offsets have the form "
            '{"topic": {"partition": offset}}',
            fix="Only a query whose sources are all format('kafka') can be adopted",
        )


def describe_other_source(line: str) -> str | None:
    """Describe the source of an offset log line if it is not Kafka; None for Kafka, or if it has no offsets yet."""
    if line.strip() == "-":
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return "it is not JSON"
    if isinstance(document, int):
        return "it is a plain number, as the rate and socket sources write"
    if not isinstance(document, dict):
        return "it is from an unknown source"
    for key, kind in (
        ("logOffset", "files"),
        ("reservoirId", "a Delta table"),
        ("snapshot_id", "an Iceberg table"),
    ):
        if key in document:
            return f"it reads {kind}"
    is_kafka = all(isinstance(parts, dict) and _are_offsets(parts) for parts in document.values())
    return None if is_kafka and document else "it is from an unknown source"


def _are_offsets(partitions: Mapping[str, Any]) -> bool:
    return bool(partitions) and all(
        key.isdigit() and isinstance(offset, int) and not isinstance(offset, bool)
        for key, offset in partitions.items()
    )


def _require_intact(store: Store) -> None:
    damage = find_damage(store, job_name="")
    if damage:
        first = damage[0]
        raise PreflightError(f"{store.address(first.name)} {first.what}", why=first.why, fix=first.fix)
