"""The options of the Java sink for bulk loads: when to load HFiles, and where to stage them."""

from __future__ import annotations

import hashlib

from milepost.checkpoint.store.layout import STAGING, local_layout
from milepost.config import Checkpointing, HBaseSink

# A load must time out before the checkpoint does, so that it can report the reason.
_SHARE_OF_TIMEOUT = 0.8


def bulk_load_options(sink: HBaseSink, checkpointing: Checkpointing, job: str) -> dict[str, str]:
    """Return the options of `write: bulk-load` and `auto`; for mutations only `write` itself."""
    if sink.write == "mutations":
        return {"write": sink.write}
    timeout = checkpointing.timeout.total_seconds() * _SHARE_OF_TIMEOUT
    return {
        "write": sink.write,
        "staging-dir": staging_directory(sink, checkpointing, job),
        "bulk-load.from-records": str(sink.bulk_load_from),
        "bulk-load.timeout-ms": str(int(timeout * 1000)),
    }


def staging_directory(sink: HBaseSink, checkpointing: Checkpointing, job: str) -> str:
    """Return the staging directory of this job as a Hadoop path; a start clears it, so no other job may use it."""
    checkpoints, chosen = checkpointing.dir, sink.staging_dir
    if chosen is None:
        return f"{_location(checkpoints)}/{STAGING}"
    # Jobs may share a staging directory, but never a checkpoint directory.
    own = hashlib.sha256(checkpoints.encode()).hexdigest()[:8]
    return f"{_location(chosen)}/{job}-{own}"


def _location(directory: str) -> str:
    layout = local_layout(directory)
    return directory if layout is None else layout.location
