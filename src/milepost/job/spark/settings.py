"""Derives Spark settings, paths and environment variables from a job's configuration."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from milepost.checkpoint.store.layout import local_layout
from milepost.checkpoint.store.pinned_settings import HDFS, PROVIDER, ROCKSDB, pinned_settings, require_kept
from milepost.checkpoint.store.store import Store
from milepost.config import Checkpointing, Config

LOCAL_FILES = "io.milepost.checkpoint.LocalCheckpointFileManager"


def session_settings(config: Config) -> dict[str, str]:
    """Return the Spark settings derived from the configuration."""
    checkpointing = config.checkpointing
    settings = {
        "spark.sql.streaming.minBatchesToRetain": str(max(checkpointing.retained, 2)),
        PROVIDER: ROCKSDB if checkpointing.state_backend == "rocksdb" else HDFS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "100",
    }
    if local_layout(checkpointing.dir) is not None:
        settings["spark.sql.streaming.checkpointFileManagerClass"] = LOCAL_FILES
    return settings | {key: str(value) for key, value in config.spark.conf.items()}


def require_pinned_settings(config: Config, store: Store) -> None:
    """Refuse settings that differ from those that the first checkpoint in a directory has pinned."""
    require_kept(pinned_settings(store), session_settings(config), store.address(""))


def checkpoint_location(checkpointing: Checkpointing) -> str:
    """Return the checkpoint directory in the form that Spark expects."""
    layout = local_layout(checkpointing.dir)
    return checkpointing.dir if layout is None else layout.location


def log_file(config: Config) -> Path:
    """Return the file of the driver's log."""
    layout = local_layout(config.checkpointing.dir)
    if layout is not None:
        return layout.driver_log
    return Path(tempfile.gettempdir()) / "milepost" / f"{config.name}.log"


def share_modules(folder: Path) -> None:
    """Add the folder of the pipeline file to the module path of Python workers."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder.resolve()) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder.resolve()), *filter(None, paths)])
