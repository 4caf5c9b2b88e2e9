"""What the Java sink is told about loading HFiles: from when on, and where they wait."""

from __future__ import annotations

import hashlib

from milepost.checkpoint.store.layout import STAGING, local_layout
from milepost.config import Checkpointing, HBaseSink

# A load must be given up before the checkpoint is, so that it can say why.
_SHARE_OF_TIMEOUT = 0.8


def bulk_load_options(sink: HBaseSink, checkpointing: Checkpointing, job: str) -> dict[str, str]:
    """Return the options of `write: bulk-load` and `auto`; only the choice itself for mutations."""
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
    """Return the folder that belongs to this job's HFiles alone, as Hadoop takes it: a start sweeps it."""
    checkpoints, chosen = checkpointing.dir, sink.staging_dir
    if chosen is None:
        return f"{_location(checkpoints)}/{STAGING}"
    # Jobs may share the directory; the checkpoint directory is what only one of them can have.
    own = hashlib.sha256(checkpoints.encode()).hexdigest()[:8]
    return f"{_location(chosen)}/{job}-{own}"


def _location(directory: str) -> str:
    layout = local_layout(directory)
    return directory if layout is None else layout.location
