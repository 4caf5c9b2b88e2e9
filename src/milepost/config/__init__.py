"""Every setting of a job, typed, frozen and strict, with secrets masked; and how settings are read."""

from __future__ import annotations

from milepost.config.checkpointing import Checkpointing
from milepost.config.hbase_sink import (
    CreateTable,
    Flush,
    HBaseSink,
    VersionColumn,
)
from milepost.config.kafka_sink import KafkaSink
from milepost.config.model import Config, Source, SparkSettings, Transform
from milepost.config.reading.load import load_config, parse_config
from milepost.config.rest import Rest, Tls
from milepost.config.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, Restart
from milepost.config.sink import (
    ConsoleSink,
    PythonSink,
    Sink,
    SinkKind,
)
from milepost.config.source import DeadLetter, KafkaSource, PythonFormat
from milepost.config.telemetry import Logging, Telemetry
from milepost.config.values.position import AtOffsets, AtTimestamp, UntilOffsets
from milepost.config.watermark import Watermark

__all__ = [
    "AtOffsets",
    "AtTimestamp",
    "Checkpointing",
    "Config",
    "ConsoleSink",
    "CreateTable",
    "DeadLetter",
    "ExponentialDelay",
    "FailureRate",
    "FixedDelay",
    "Flush",
    "HBaseSink",
    "KafkaSink",
    "KafkaSource",
    "Logging",
    "NoRestart",
    "PythonFormat",
    "PythonSink",
    "Rest",
    "Restart",
    "Sink",
    "SinkKind",
    "Source",
    "SparkSettings",
    "Telemetry",
    "Tls",
    "Transform",
    "UntilOffsets",
    "VersionColumn",
    "Watermark",
    "load_config",
    "parse_config",
]
