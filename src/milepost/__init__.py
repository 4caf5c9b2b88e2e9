"""Milepost: dependable streaming from Kafka into HBase on Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milepost.api import Pipeline, RunningPipeline
    from milepost.checkpoint.model import (
        Acknowledgement,
        CompletedCheckpoint,
        FailedBy,
        FailedCheckpoint,
        FailureReason,
        Trigger,
    )
    from milepost.checkpoint.participants.participant import (
        CheckpointedFunction,
        CheckpointListener,
        InitializationContext,
        SnapshotContext,
    )
    from milepost.checkpoint.savepoint.manifest import Savepoint, SavepointTrigger
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
    from milepost.job.monitoring.progress import Progress
    from milepost.job.spark.session import spark_jars, spark_session
    from milepost.job.status import JobStatus
    from milepost.rest.server.server import Address

__all__ = [
    "Acknowledgement",
    "Address",
    "CheckpointListener",
    "CheckpointedFunction",
    "Checkpointing",
    "CompletedCheckpoint",
    "Config",
    "ConsoleSink",
    "ExponentialDelay",
    "FailedBy",
    "FailedCheckpoint",
    "FailureRate",
    "FailureReason",
    "FixedDelay",
    "HBaseSink",
    "InitializationContext",
    "JobStatus",
    "KafkaSink",
    "KafkaSource",
    "MilepostError",
    "NoRestart",
    "Pipeline",
    "Progress",
    "PythonSink",
    "Rest",
    "RunningPipeline",
    "Savepoint",
    "SavepointTrigger",
    "SnapshotContext",
    "Telemetry",
    "Trigger",
    "load_config",
    "spark_jars",
    "spark_session",
]

_MODEL = "milepost.checkpoint.model"
_PARTICIPANT = "milepost.checkpoint.participants.participant"
_SAVEPOINT = "milepost.checkpoint.savepoint.manifest"
# The modules of the names that do not belong to the configuration.
_HOMES = {
    "Acknowledgement": _MODEL,
    "Address": "milepost.rest.server.server",
    "CheckpointListener": _PARTICIPANT,
    "CheckpointedFunction": _PARTICIPANT,
    "CompletedCheckpoint": _MODEL,
    "FailedBy": _MODEL,
    "FailedCheckpoint": _MODEL,
    "FailureReason": _MODEL,
    "InitializationContext": _PARTICIPANT,
    "JobStatus": "milepost.job.status",
    "MilepostError": "milepost.errors",
    "Pipeline": "milepost.api",
    "Progress": "milepost.job.monitoring.progress",
    "RunningPipeline": "milepost.api",
    "Savepoint": _SAVEPOINT,
    "SavepointTrigger": _SAVEPOINT,
    "SnapshotContext": _PARTICIPANT,
    "Trigger": _MODEL,
    "spark_jars": "milepost.job.spark.session",
    "spark_session": "milepost.job.spark.session",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a command that only reads files imports neither PySpark nor pydantic."""
    if name not in __all__:
        raise AttributeError(f"module 'milepost' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "milepost.config")), name)
