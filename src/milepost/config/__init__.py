"""Every setting of a job: typed, frozen, strict, with its secrets masked; and how it is read."""

from __future__ import annotations

from milepost.config.checkpointing import Checkpointing
from milepost.config.load import load_config, parse_config
from milepost.config.model import Config, Sink, Source, SparkSettings, Transform
from milepost.config.position import AtOffsets, AtTimestamp, UntilOffsets
from milepost.config.restart import ExponentialDelay, FailureRate, FixedDelay, NoRestart, Restart
from milepost.config.sink import CreateTable, Flush, HBaseSink, VersionColumn
from milepost.config.source import DeadLetter, KafkaSource, PythonFormat
from milepost.config.watermark import Watermark

__all__ = [
    "AtOffsets",
    "AtTimestamp",
    "Checkpointing",
    "Config",
    "CreateTable",
    "DeadLetter",
    "ExponentialDelay",
    "FailureRate",
    "FixedDelay",
    "Flush",
    "HBaseSink",
    "KafkaSource",
    "NoRestart",
    "PythonFormat",
    "Restart",
    "Sink",
    "Source",
    "SparkSettings",
    "Transform",
    "UntilOffsets",
    "VersionColumn",
    "Watermark",
    "load_config",
    "parse_config",
]
