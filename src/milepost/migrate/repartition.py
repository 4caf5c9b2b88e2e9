"""Changes the number of state partitions of a savepoint. The result is a new savepoint with the next checkpoint id.

Spark's offline repartitioning does the work, in a temporary checkpoint directory made from the savepoint. It moves
every key to the partition of its hash, in a separate batch that reads no records and writes no rows.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.savepoint.manifest import Savepoint, name_of
from milepost.checkpoint.savepoint.restore import install, verify
from milepost.checkpoint.savepoint.write import drop, finish, kept, pin
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import local_layout
from milepost.checkpoint.store.pinned_settings import (
    HDFS,
    PARTITIONS,
    PROVIDER,
    pinned_settings,
)
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.errors import PreflightError, SavepointError
from milepost.job.spark.settings import LOCAL_FILES
from milepost.sentence import plain

SETTINGS = {
    "spark.sql.streaming.checkpointFileManagerClass": LOCAL_FILES,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""The settings of the session that repartitions."""


def require_possible(savepoint: Savepoint, partitions: int) -> Store:
    """Return the verified files of the savepoint; refuse one whose state cannot be repartitioned."""
    store = verify(savepoint)
    fixed = pinned_settings(store)
    if not fixed:
        raise PreflightError(
            f"{savepoint.path} contains no state",
            why="a job without state can change its partitions at any time",
            fix="Set spark.sql.shuffle.partitions in spark.conf, and run with --from-savepoint",
        )
    if fixed.get(PROVIDER) == HDFS:
        raise PreflightError(
            f"The state in {savepoint.path} was written by state-backend filesystem or memory",
            why="Spark can repartition only the state of rocksdb",
            fix=f"Keep spark.sql.shuffle.partitions at {fixed.get(PARTITIONS)}",
        )
    if fixed.get(PARTITIONS) == str(partitions):
        raise PreflightError(f"The state in {savepoint.path} already has {partitions} partitions")
    return store


def repartition(spark: SparkSession, savepoint: Savepoint, partitions: int) -> Savepoint:
    """Create a savepoint with this many state partitions next to the given one, which is unchanged."""
    saved = require_possible(savepoint, partitions)
    parent, _, _ = savepoint.path.rstrip("/").rpartition("/")
    with _work_folder(parent) as work:
        store = LocalStore(work)
        install(savepoint, store, f"file:{work}")
        for name, data in kept(saved).items():
            store.replace(name, data)
        _repartition_state(spark, work, partitions)
        next_id = CheckpointId(savepoint.checkpoint_id + 1)
        files = CheckpointFiles(store)
        before = files.get(savepoint.checkpoint_id)
        if before is not None:
            files.complete(replace(before, checkpoint_id=next_id))
        name = name_of(savepoint.job_id, uuid.uuid4().hex)
        target = Store.at(parent)
        created = replace(savepoint, path=target.address(name), name=name, checkpoint_id=next_id, files={})
        draft = pin(store, target, created)
        try:
            return finish(draft)
        except BaseException:
            with suppress(Exception):
                drop(draft)
            raise


def _repartition_state(spark: SparkSession, work: Path, partitions: int) -> None:
    manager = spark._streamingCheckpointManager  # noqa: SLF001 - not public yet
    try:
        manager.repartition(str(work), partitions)
    except (PySparkException, Py4JJavaError) as error:
        message = (
            error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error.getMessage()
        )
        raise SavepointError(
            f"Spark could not repartition the state into {partitions} partitions",
            why=plain(str(message or error)),
            fix="Keep spark.sql.shuffle.partitions as it is; the savepoint is unchanged",
        ) from error


@contextmanager
def _work_folder(parent: str) -> Iterator[Path]:
    """Yield a temporary folder, next to the savepoint if that is local and Spark can read its path."""
    layout = local_layout(parent)
    beside = layout is not None and quote(str(layout.root)) == str(layout.root)
    folder = Path(
        tempfile.mkdtemp(prefix=".repartition-", dir=layout.root if layout is not None and beside else None)
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
