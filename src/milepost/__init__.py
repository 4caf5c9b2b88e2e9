"""Milepost: dependable streaming from Kafka into HBase on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost.api import Pipeline
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
        Rest,
        Telemetry,
        load_config,
    )
    from milepost.errors import MilepostError
    from milepost.job.spark.session import spark_jars, spark_session
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
    "Rest",
    "SnapshotContext",
    "Telemetry",
    "load_config",
    "spark_jars",
    "spark_session",
]

_PARTICIPANT = "milepost.checkpoint.participants.participant"
# Where a name is defined that does not belong to the configuration.
_HOMES = {
    "CheckpointListener": _PARTICIPANT,
    "CheckpointedFunction": _PARTICIPANT,
    "InitializationContext": _PARTICIPANT,
    "JobStatus": "milepost.job.status",
    "MilepostError": "milepost.errors",
    "Pipeline": "milepost.api",
    "SnapshotContext": _PARTICIPANT,
    "spark_jars": "milepost.job.spark.session",
    "spark_session": "milepost.job.spark.session",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is used: a command that only reads files waits neither for PySpark nor for pydantic."""
    if name not in __all__:
        raise AttributeError(f"module 'milepost' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "milepost.config")), name)
