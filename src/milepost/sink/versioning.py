"""Decides whether a table and its topics bear the versions of the sink's cells.

Pure: facts go in, a refusal or warnings come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from milepost.config import Config, HBaseSink
from milepost.config.hbase_sink import VersionColumn
from milepost.errors import PreflightError
from milepost.sink.table import TableFacts, require_no_ttl
from milepost.sink.writers import NUMBERED


def require_bearable(table: str, facts: TableFacts, families: frozenset[str], version: str) -> None:
    """Refuse families in which a repeated write with the same version would not be the same cell."""
    if version in NUMBERED:
        require_no_ttl(table, facts, families, version)
    if version == "server-time":
        return
    by_arrival = sorted(name for name in families if facts.families[name].new_version_behavior)
    if by_arrival:
        raise PreflightError(
            f"Table {table!r}: column family {', '.join(map(repr, by_arrival))} has NEW_VERSION_BEHAVIOR",
            why="a delete hides only what arrived before it there, so that an older record which is written again "
            "after a failure, or late by a lost task, comes back from under a newer delete",
            fix=f"Run `alter '{table}', NAME => '{by_arrival[0]}', NEW_VERSION_BEHAVIOR => 'false'`, or use version: "
            "server-time in mode at-least-once",
        )


def table_warnings(table: str, facts: TableFacts, families: frozenset[str], version: str) -> Iterator[str]:
    """Yield what a person should know of the table's families."""
    expiring = sorted(name for name in families if facts.families[name].ttl is not None)
    if expiring and version.startswith("column:"):
        yield (
            f"Table {table!r}: column family {', '.join(map(repr, expiring))} expires cells by age, which HBase "
            f"counts from the version. That is right where {version.removeprefix('column:')!r} is a time "
            "(TIMESTAMP, or a BIGINT of milliseconds since 1970); any smaller number expires at once."
        )


def version_of(config: Config) -> str | None:
    """Return what versions are made of, as the engine's sink spells it; None where the sink has no versions."""
    sink = config.sink.kind
    return version_word(sink) if isinstance(sink, HBaseSink) else None


def version_word(sink: HBaseSink) -> str:
    """Return the version as the engine's sink spells it."""
    return f"column:{sink.version.column}" if isinstance(sink.version, VersionColumn) else sink.version


def topic_warnings(timestamp_types: Mapping[str, str | None], config: Config) -> Iterator[str]:
    """Yield what a person should know of topics whose timestamps are versions; None where the broker does not say."""
    sink = config.sink.kind
    if not isinstance(sink, HBaseSink) or sink.version != "timestamp":
        return
    set_by_producers = sorted(topic for topic, kind in timestamp_types.items() if kind == "CreateTime")
    if set_by_producers:
        yield (
            f"version is timestamp, and those of topic {', '.join(map(repr, set_by_producers))} are set by its "
            "producers (message.timestamp.type is CreateTime): of two records of a key in one millisecond, or under "
            "a clock that goes back, the older may stay, and a delete wins over a put. Set it to LogAppendTime, "
            "or use version: offset."
        )
    if len(timestamp_types) > 1 and "_kafka.topic" not in sink.row_key:
        yield (
            f"{len(timestamp_types)} topics are written into one space of row keys: of two records with the same "
            "row key and timestamp it is open which one stays. Add _kafka.topic to sink.hbase.row-key where keys "
            "of different topics are different things."
        )
