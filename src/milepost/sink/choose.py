"""Configuration -> the stage of the sink that is set."""

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
"""Finds what `module:name` names; the key it stands under is for the refusal."""


def stage_of(config: Config, load: Load) -> SinkStage:
    """Return the sink's stage; nothing is asked or opened by this."""
    sink = config.sink.kind
    if isinstance(sink, KafkaSink):
        return KafkaStage(sink, name=config.name, checkpointing=config.checkpointing)
    if isinstance(sink, ConsoleSink):
        return ConsoleStage(sink)
    if isinstance(sink, PythonSink):
        return PythonStage(sink.python, load(sink.python, config.sink.key))
    return HBaseStage(sink, checkpointing=config.checkpointing, job=config.name)
