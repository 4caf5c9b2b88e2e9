"""Milepost: dependable streaming from Kafka into HBase on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milepost.checkpoint.participants.participant import (
    CheckpointedFunction,
    CheckpointListener,
    InitializationContext,
    SnapshotContext,
)
from milepost.config import (
    Checkpointing,
    Config,
    ConsoleSink,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    HBaseSink,
    KafkaSink,
    KafkaSource,
    NoRestart,
    PythonSink,
    load_config,
)
from milepost.errors import MilepostError

if TYPE_CHECKING:
    from milepost.job.api import Pipeline
    from milepost.job.status import JobStatus

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "Checkpointing",
    "Config",
    "ConsoleSink",
    "ExponentialDelay",
    "FailureRate",
    "FixedDelay",
    "HBaseSink",
    "InitializationContext",
    "JobStatus",
    "KafkaSink",
    "KafkaSource",
    "MilepostError",
    "NoRestart",
    "Pipeline",
    "PythonSink",
    "SnapshotContext",
    "load_config",
]


def __getattr__(name: str) -> Any:
    """Import what needs PySpark only when it is used, so that `milepost --help` does not wait for it."""
    if name == "Pipeline":
        from milepost.job.api import Pipeline

        return Pipeline
    if name == "JobStatus":
        from milepost.job.status import JobStatus

        return JobStatus
    raise AttributeError(f"module 'milepost' has no attribute {name!r}")
