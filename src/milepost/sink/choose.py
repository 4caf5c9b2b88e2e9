"""Creates the stage of the configured sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from milepost.config import Config, ConsoleSink, KafkaSink, PythonSink
from milepost.sink.console import ConsoleStage
from milepost.sink.hbase import HBaseStage
from milepost.sink.kafka import KafkaStage
from milepost.sink.python import PythonStage
from milepost.sink.stage import SinkStage

Load = Callable[[str, str], Callable[..., Any]]
"""Loads the object named by `module:name`; the key is for error messages."""


def create_stage(config: Config, load: Load) -> SinkStage:
    """Return the stage of the sink; nothing is connected or opened yet."""
    sink = config.sink.kind
    if isinstance(sink, KafkaSink):
        return KafkaStage(sink, name=config.name, checkpointing=config.checkpointing)
    if isinstance(sink, ConsoleSink):
        return ConsoleStage(sink)
    if isinstance(sink, PythonSink):
        return PythonStage(sink.python, load(sink.python, config.sink.key))
    return HBaseStage(sink, checkpointing=config.checkpointing, job=config.name)
