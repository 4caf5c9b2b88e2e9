"""Settings that the first checkpoint of a stateful job pins: Spark silently keeps them, whatever is configured later.

Spark writes these settings into every entry of its offset log, and a start takes them from there.
"""

from __future__ import annotations

from collections.abc import Mapping

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.spark_log import batch_ids, is_entry, read_settings
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_BACKENDS = {ROCKSDB: "rocksdb", HDFS: "filesystem"}


def pinned_settings(store: Store) -> Mapping[str, str]:
    """Return the settings that belong to the state in a directory; none where no operator has state in it."""
    batches = batch_ids(store, names.OFFSETS)
    operators = [entry.name for entry in store.entries(names.STATE) if is_entry(entry.name)]
    return read_settings(store, max(batches)) if batches and operators else {}


def require_kept(fixed: Mapping[str, str], wanted: Mapping[str, str], where: str) -> None:
    """Refuse settings of Spark that differ from those of the state at `where`; what is not wanted stays as it is."""
    for key, now in wanted.items():
        before = fixed.get(key, now)
        if before == now:
            continue
        if key == PROVIDER:
            raise PreflightError(
                f"The state in {where} was written by state-backend {_backend(before)}, and "
                f"checkpointing.state-backend is {_backend(now)}",
                why="the two keep state in different files, and Spark would silently continue with the old one",
                fix=f"Set checkpointing.state-backend to {_backend(before)}, or run with --fresh to begin without the "
                "state",
            )
        if key == PARTITIONS:
            raise PreflightError(
                f"The state in {where} is kept in {before} parts, and spark.conf sets {key} to {now}",
                why="each key belongs to one of them, and Spark would silently continue with the old number",
                fix=f"Set it to {before} or remove it; or take a savepoint, bring it into {now} parts with "
                f"`milepost savepoint repartition PATH --to {now}`, and run with --from-savepoint",
            )
        raise PreflightError(
            f"The state in {where} was written with {key} = {before}, and spark.conf sets it to {now}",
            why="the first checkpoint has pinned it, and Spark would silently continue with the old value",
            fix=f"Set it to {before} or remove it, or run with --fresh to begin without the state",
        )


def _backend(provider: str) -> str:
    return _BACKENDS.get(provider, provider)
