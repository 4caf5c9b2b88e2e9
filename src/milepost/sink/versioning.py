"""Decides from facts whether a table and its topics support the versions of the sink. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from milepost.config import Config, HBaseSink
from milepost.config.hbase_sink import VersionColumn
from milepost.errors import PreflightError
from milepost.sink.table import TableFacts, require_no_ttl
from milepost.sink.writers import NUMBERED


def require_idempotent_writes(table: str, facts: TableFacts, families: frozenset[str], version: str) -> None:
    """Refuse families in which writing the same version again has a different result."""
    if version in NUMBERED:
        require_no_ttl(table, facts, families, version)
    if version == "server-time":
        return
    by_arrival = sorted(name for name in families if facts.families[name].new_version_behavior)
    if by_arrival:
        raise PreflightError(
            f"Table {table!r}: column family {', '.join(map(repr, by_arrival))} has NEW_VERSION_BEHAVIOR",
            why="a delete then hides only cells that arrived before it, so a record that is replayed after a failure, "
            "or written late by a lost task, reappears despite a newer delete",
            fix=f"Run `alter '{table}', NAME => '{by_arrival[0]}', NEW_VERSION_BEHAVIOR => 'false'`, or use version: "
            "server-time in mode at-least-once",
        )


def table_warnings(table: str, facts: TableFacts, families: frozenset[str], version: str) -> Iterator[str]:
    """Yield warnings about the families of the table."""
    expiring = sorted(name for name in families if facts.families[name].ttl is not None)
    if expiring and version.startswith("column:"):
        yield (
            f"Table {table!r}: column family {', '.join(map(repr, expiring))} expires cells by age, which HBase "
            f"counts from the version. This is correct if {version.removeprefix('column:')!r} is a time "
            "(TIMESTAMP, or a BIGINT of milliseconds since 1970); smaller numbers expire immediately."
        )


def version_of(config: Config) -> str | None:
    """Return the kind of versions, as in the options of the engine; None if the sink has no versions."""
    sink = config.sink.kind
    return version_word(sink) if isinstance(sink, HBaseSink) else None


def version_word(sink: HBaseSink) -> str:
    """Return the kind of versions, as in the options of the engine."""
    return f"column:{sink.version.column}" if isinstance(sink.version, VersionColumn) else sink.version


def topic_warnings(timestamp_types: Mapping[str, str | None], config: Config) -> Iterator[str]:
    """Yield warnings about topics whose timestamps are used as versions; None is an unknown timestamp type."""
    sink = config.sink.kind
    if not isinstance(sink, HBaseSink) or sink.version != "timestamp":
        return
    set_by_producers = sorted(topic for topic, kind in timestamp_types.items() if kind == "CreateTime")
    if set_by_producers:
        yield (
            f"version is timestamp, but the timestamps of topic {', '.join(map(repr, set_by_producers))} are set by "
            "producers (message.timestamp.type is CreateTime): if two records of a key have the same millisecond, or a "
            "clock goes back, the older one may win, and a delete wins over a put. Set it to LogAppendTime, "
            "or use version: offset."
        )
    if len(timestamp_types) > 1 and "_kafka.topic" not in sink.row_key:
        yield (
            f"{len(timestamp_types)} topics share the row keys of one table: of two records with the same row key and "
            "timestamp either one may win. Add _kafka.topic to sink.hbase.row-key if equal keys in different topics "
            "are unrelated."
        )
