"""Checks that a checkpoint directory is intact before a job starts on it. It changes nothing.

Spark itself accepts a `commits/N` that is cut off after `v1`, and fails in the middle of a start, with an assertion, at
most other damage. Each finding names its file, why it is wrong, and what to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery.damage import (
    RESTORE,
    Damage,
    Logs,
    gaps,
    is_checksum_of,
    missteps,
    resumable,
)
from milepost.checkpoint.recovery.marker import require_finished
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.identity import recorded_job
from milepost.checkpoint.store.manifest import from_json
from milepost.checkpoint.store.spark_log import (
    batch_ids,
    is_entry,
    read_commit,
    read_offsets,
    source_began,
)
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

FALL_BACK = "set checkpointing.on-damage to fall-back, which resumes from"
# Of a long log only the newest entries are read; of older ones the names must be right.
_READ_AT_MOST = 100
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_T = TypeVar("_T")


def check_directory(store: Store, *, job_name: str) -> None:
    """Refuse a directory of another job or a damaged one. An empty or missing one belongs to a new job."""
    found = find_damage(store, job_name=job_name)
    if found:
        raise refusal(store, found)


def find_damage(store: Store, *, job_name: str) -> list[Damage]:
    """Return all damage of a directory; refuse a directory of another job at once."""
    try:
        _require_directory(store)
        require_job(store, job_name)
        _require_restored(store)
        logs = read_logs(store)
        return [*_shape(store), *_query(store, logs), *gaps(logs), *_contents(store, logs)]
    except OSError as error:
        raise PreflightError(
            f"The checkpoint directory {store.address('')} cannot be read",
            why=str(error),
            fix="Allow the user that runs the job to read and write it",
        ) from error


def read_logs(store: Store) -> Logs:
    """Return which batches have an entry in Spark's two logs."""
    return Logs(frozenset(batch_ids(store, names.OFFSETS)), frozenset(batch_ids(store, names.COMMITS)))


def refusal(store: Store, found: list[Damage]) -> PreflightError:
    """Return the error that names the first damage, the others, and every way out."""
    first, *more = found
    others = f"; damaged too: {', '.join(damage.name for damage in more[:5])}" if more else ""
    others += f" and {len(more) - 5} more" if len(more) > 5 else ""
    batch_id = resumable(read_logs(store), found)
    fix = first.fix if batch_id is None else f"{first.fix}, or {FALL_BACK} checkpoint {batch_id}"
    return PreflightError(f"{store.address(first.name)} {first.what}", why=first.why + others, fix=fix)


def _require_directory(store: Store) -> None:
    if store.is_file(""):
        raise PreflightError(
            f"{store.address('')} is a file, and checkpointing.dir must be a directory",
            fix="Move the file, or set checkpointing.dir to another path",
        )


def require_job(store: Store, job_name: str) -> None:
    """Refuse a directory that belongs to another job, or whose change did not finish."""
    require_finished(store)
    job = recorded_job(store)
    if job is not None and job.name != job_name:
        raise PreflightError(
            f"{store.address('')} belongs to job {job.name!r}, and this job is {job_name!r}",
            why=f"{names.JOB} in it records the name; two jobs on one directory would use each other's offsets",
            fix="Give this job a checkpointing.dir of its own, or its old name back",
        )


def _require_restored(store: Store) -> None:
    """Refuse a directory with an unfinished restore of a savepoint."""
    try:
        savepoint = json.loads(store.read(names.RESTORING))["savepoint"]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        savepoint = "PATH"
    raise PreflightError(
        f"The restore of a savepoint into {store.address('')} did not finish",
        why=f"{names.RESTORING} is still there; a restore writes it first and removes it last",
        fix=f"Run again with --from-savepoint {savepoint}, or with --fresh to start without it",
    )


def _shape(store: Store) -> Iterator[Damage]:
    """Find files where folders must be, and names that Spark takes for batches."""
    for log in (names.OFFSETS, names.COMMITS):
        if store.is_file(log):
            yield Damage(name=log, what="is a file", why="Spark's log is a folder of this name")
        for entry in store.entries(log):
            name = f"{log}/{entry.name}"
            if entry.is_folder and is_entry(entry.name):
                why = "Spark would write the entry of this batch under this name"
                batch_id = int(entry.name)
                yield Damage(
                    name=name, what="is a folder", why=why, fix="Remove the folder", batch_id=batch_id
                )
            elif _NUMBER.fullmatch(entry.name) and not is_entry(entry.name):
                why = "Spark would read it as a batch, and never writes such a name"
                yield Damage(name=name, what="is not an entry of the log", why=why, fix="Move it away")


def _query(store: Store, logs: Logs) -> Iterator[Damage]:
    """Find what is wrong with the files that belong to no batch."""
    begun = bool(logs.offsets or logs.commits)
    if store.is_file(names.METADATA):
        yield from _metadata(store)
    elif begun:
        why = "Spark's logs have entries, and without the query's id Spark refuses the directory"
        yield Damage(name=names.METADATA, what="is missing", why=why)
    stored = CheckpointFiles(store).ids()
    if stored and not begun:
        why = f"Spark's logs are empty, while {names.manifest_of(stored[-1])} describes what they held"
        fix = f"{RESTORE}, or run with --fresh to start from scratch"
        yield Damage(name=names.OFFSETS, what="has lost its entries", why=why, fix=fix)
    for source in _sources(store):
        name = names.initial_offsets_of(source)
        try:
            source_began(store, source)
        except PreflightError as error:
            yield Damage(name=name, what="does not say where the source began", why=error.why)
        else:
            yield from _checksum(store, name, None)
    if begun and logs.newest_completed is None and not store.is_file(names.initial_offsets_of(0)):
        why = "a batch was started and none completed, and only this file has the start of the batch"
        yield Damage(name=names.initial_offsets_of(0), what="is missing", why=why)


def _sources(store: Store) -> list[int]:
    folders = [entry.name for entry in store.entries(names.SOURCES) if entry.is_folder]
    return [int(name) for name in folders if is_entry(name)]


def _metadata(store: Store) -> Iterator[Damage]:
    try:
        has_id = isinstance(json.loads(store.read(names.METADATA))["id"], str)
    except (ValueError, KeyError, TypeError, RecursionError):
        has_id = False
    if not has_id:
        yield Damage(name=names.METADATA, what="is damaged", why="it does not contain the query's id")
    yield from _checksum(store, names.METADATA, None)


def _contents(store: Store, logs: Logs) -> Iterator[Damage]:
    """Find entries and manifests with wrong content."""
    found: list[Damage] = []
    offsets = _read(store, names.OFFSETS, logs.offsets, read_offsets, found)
    _read(store, names.COMMITS, logs.commits, read_commit, found)
    yield from found
    yield from missteps(offsets, _began(store))
    yield from _manifests(store, logs, offsets)


def _read(
    store: Store,
    log: str,
    ids: frozenset[int],
    read: Callable[[Store, int], _T],
    found: list[Damage],
) -> dict[int, _T]:
    """Return the newest entries of a log that can be read; the others are found damaged."""
    entries: dict[int, _T] = {}
    for batch_id in sorted(ids)[-_READ_AT_MOST:]:
        name = f"{log}/{batch_id}"
        try:
            entries[batch_id] = read(store, batch_id)
        except PreflightError as error:
            what = error.what.removeprefix(store.address(name)).strip()
            found.append(Damage(name=name, what=what, why=error.why, batch_id=batch_id))
        else:
            found.extend(_checksum(store, name, batch_id))
    return entries


def _began(store: Store) -> dict[int, Offsets]:
    began: dict[int, Offsets] = {}
    for source in _sources(store):
        try:
            began[source] = source_began(store, source) or {}
        except PreflightError:
            continue  # found by another check
    return began


def _manifests(store: Store, logs: Logs, offsets: Mapping[int, tuple[Offsets, ...]]) -> Iterator[Damage]:
    """Find manifests that are damaged or contradict Spark's log."""
    stored: list[int] = [*CheckpointFiles(store).ids()]
    files = [(checkpoint_id, names.manifest_of(checkpoint_id)) for checkpoint_id in stored[-_READ_AT_MOST:]]
    newest = logs.newest_completed
    if newest is not None and newest not in stored and store.is_file(names.sealed_of(newest)):
        files.append((newest, names.sealed_of(newest)))
    for checkpoint_id, name in files:
        try:
            checkpoint = from_json(store.read(name), name)
        except PreflightError as error:
            yield Damage(name=name, what="is damaged", why=error.why, batch_id=checkpoint_id)
            continue
        if checkpoint.checkpoint_id != checkpoint_id:
            why = f"it is that of checkpoint {checkpoint.checkpoint_id}"
            yield Damage(name=name, what="has a wrong name", why=why, batch_id=checkpoint_id)
        elif checkpoint.sources and checkpoint.sources != offsets.get(checkpoint_id, checkpoint.sources):
            why = f"its offsets are not those in {names.OFFSETS}/{checkpoint_id}"
            yield Damage(name=name, what="contradicts Spark's log", why=why, batch_id=checkpoint_id)


def _checksum(store: Store, name: str, batch_id: int | None) -> Iterator[Damage]:
    """Compare a file with the checksum that Hadoop's local file system may have left beside it."""
    folder, slash, own = name.rpartition("/")
    beside = f"{folder}{slash}.{own}.crc"
    try:
        sums = store.read(beside)
    except FileNotFoundError:
        return
    if not is_checksum_of(sums, store.read(name)):
        fix = f"{RESTORE}; if you know that it is right, remove {store.address(beside)}"
        why = f"its checksum is not the one in {beside}, and plain Spark would refuse it"
        yield Damage(name=name, what="is damaged", why=why, fix=fix, batch_id=batch_id)
