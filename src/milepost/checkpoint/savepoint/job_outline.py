"""The outline of a job in a savepoint: what must match when a job is restored from it. Pure."""

from __future__ import annotations

from typing import Any

from milepost.config import Config, HBaseSink, KafkaSink
from milepost.config.hbase_sink import VersionColumn
from milepost.config.source import PythonFormat


def outline(config: Config) -> dict[str, Any]:
    """Return the outline of a configuration; nothing in it is secret."""
    return {
        "sources": {
            view: {
                "topics": None if source.topics is None else sorted(source.topics),
                "topic-pattern": source.topic_pattern,
                "format": source.format.python if isinstance(source.format, PythonFormat) else source.format,
                "schema": source.record_schema,
            }
            for view, source in config.views.items()
        },
        "sink": _sink(config),
        "state-backend": config.checkpointing.state_backend,
        "execution": config.checkpointing.execution,
    }


def _sink(config: Config) -> dict[str, Any]:
    sink = config.sink.kind
    if isinstance(sink, HBaseSink):
        version = sink.version.column if isinstance(sink.version, VersionColumn) else sink.version
        return {
            "hbase": {
                "table": sink.table,
                "families": sorted(sink.columns),
                "row-key": list(sink.row_key),
                "version": version,
            }
        }
    return (
        {"kafka": {"topic": sink.topic}}
        if isinstance(sink, KafkaSink)
        else {config.sink.key.removeprefix("sink."): {}}
    )
