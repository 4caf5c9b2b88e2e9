"""`verify`: from a pipeline's configuration to the proof that its table equals its log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from milepost.checkpoint.files import versions
from milepost.checkpoint.files.layout import Layout, local_layout
from milepost.checkpoint.files.sparklog import newest_completed
from milepost.checkpoint.files.store import Store
from milepost.checkpoint.handover.take import adopted_at
from milepost.config import Config, HBaseSink, KafkaSource
from milepost.errors import PreflightError
from milepost.source.librdkafka import client_properties
from milepost.verify.compare import compare
from milepost.verify.log import Span, read, take_spans
from milepost.verify.oracle import Expected, Mapping, Oracle
from milepost.verify.report import Report
from milepost.verify.schema import parse_schema
from milepost.verify.table import raw_cells
from milepost.verify.versions import FIRST, Era, era_index, parse_eras, undone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANY_VERSION = 1 << 63
_WATCH_EVERY = 10_000
_FORMATS = ("raw", "string", "json", "debezium-json", "canal-json")


def verify_pipeline(
    config: Config,
    spark: SparkSession,
    *,
    say: Callable[[str], None] = lambda _: None,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> Report:
    """Compare the table with the log as both are now; the job should stand at a boundary meanwhile.

    `watch` is told now and then how many of the log's offsets are read.

    The report of differences is a result and not an error: whoever must stop on it raises `report.error()`.
    """
    mapping = mapping_of(config)
    source = next(iter(config.views.values()))
    client = client_properties(source.client_properties)
    layout = local_layout(config.checkpointing.dir)
    topics = [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())
    spans = take_spans(client, topics, begins=begins(layout))
    oracle = Oracle(mapping)
    total = sum(span.end - span.begin for span in spans)
    for done, record in enumerate(read(client, spans), 1):
        oracle.apply(record)
        if done % _WATCH_EVERY == 0:
            watch(done, total)
    expected = oracle.expected
    expected.horizons = horizons(spans, mapping)
    say(f"the log has {expected.records:,} visible records in {len(spans)} partitions")
    report = compare(expected, raw_cells(spark, table_options(config.sink.hbase)))
    say(f"the table has {report.rows:,} rows and {report.cells:,} cells and markers of all versions")
    report.notes.extend(_notes(expected, report, spans, layout))
    return report


def mapping_of(config: Config) -> Mapping:
    """Return what the oracle must know, or refuse a pipeline that it cannot model yet."""
    if len(config.views) > 1:
        raise _refusal("it has several sources", "the model reads one, and your transform puts them together")
    source, sink = next(iter(config.views.values())), config.sink.hbase
    version = sink.version if isinstance(sink.version, str) else f"column:{sink.version.column}"
    if config.transform is not None:
        raise _refusal(
            "it has a transform", "the model would have to run your code to know what the table must hold"
        )
    if source.format not in _FORMATS:
        raise _refusal(f"its format is {_format_name(source)}", f"the model reads {', '.join(_FORMATS)}")
    if version == "server-time":
        raise _refusal(
            "its versions are HBase's own time",
            "at-least-once has repeated records in it, and no way to tell",
        )
    if version == "checkpoint":
        raise _refusal(
            "its versions are checkpoint ids", "the log does not say which checkpoint a record was in"
        )
    if sink.guard == "cas":
        raise _refusal(
            "its table is guarded by cas", "the cells carry HBase's own time, and the log does not know it"
        )
    return Mapping(
        record_format=str(source.format),
        schema=parse_schema(source.record_schema) if source.record_schema else (),
        row_key=tuple(sink.row_key),
        columns=tuple(
            (family, qualifier, column)
            for family, columns in sink.columns.items()
            for qualifier, column in columns.items()
        ),
        encoding=sink.encoding,
        salt=sink.salt,
        op=sink.op,
        key_column=source.key_column,
        delete=sink.delete,
        nulls=sink.nulls,
        version=version,
        eras=_eras(config) if version == "offset" else {},
    )


def _eras(config: Config) -> dict[str, tuple[Era, ...]]:
    """Return how the job has made versions of offsets so far, as it has written down."""
    known = versions.recorded(Store.at(config.checkpointing.dir))
    return {} if known is None else parse_eras(known.topics)


def begins(layout: Layout | None) -> dict[tuple[str, int], int]:
    """Return where the job began: as it was adopted, or as Spark has written it down; empty where neither is so."""
    adopted = adopted_at(layout) if layout else None
    if adopted is not None:
        return {(topic, p): offset for topic, parts in adopted.items() for p, offset in parts.items()}
    first = layout.root / "sources" / "0" / "0" if layout else None
    if first is None or not first.is_file():
        return {}
    # A zero byte and the version come before the offsets, for readers of Spark 2.1.
    offsets = json.loads(first.read_text(encoding="utf-8").split("\n", 1)[1])
    return {(topic, int(p)): offset for topic, parts in offsets.items() for p, offset in parts.items()}


def horizons(spans: Sequence[Span], mapping: Mapping) -> dict[tuple[str, int], int]:
    """Return per partition the version below which a record outside the span may have written."""
    result = {}
    for span in spans:
        eras = mapping.eras.get(span.topic, FIRST)
        if mapping.version != "offset":
            version = 0 if span.is_whole else _ANY_VERSION
        elif span.is_whole:
            # Below the first generation is what was written from a topic of the same name.
            version = eras[0].version(span.partition, 0, None)
        else:
            offset = span.end if span.compacted else span.begin
            era = eras[era_index(eras, span.partition, offset)]
            version = (
                (era.generation + 1) << 48 if era.is_timed else era.version(span.partition, offset, None)
            )
        result[span.topic, span.partition] = version
    if any(len(eras) > 1 for eras in mapping.eras.values()):
        # A row may have been in any partition, and what a roll back has undone is of no record any more.
        gone = max((undone(eras) + 1) << 48 for eras in mapping.eras.values())
        return dict.fromkeys(result, max(gone, *result.values()))
    return result


def table_options(sink: HBaseSink) -> dict[str, str]:
    """Return the options that reach the table."""
    options = {key: str(value) for key, value in sink.properties.items()} | {"table": str(sink.table)}
    if sink.site is not None:
        return options | {"site": str(sink.site)}
    return options | {"quorum": ",".join(sink.quorum or ())}


def _format_name(source: KafkaSource) -> str:
    return source.format if isinstance(source.format, str) else "python"


def _refusal(what: str, why: str) -> PreflightError:
    return PreflightError(
        f"This pipeline cannot be verified: {what}",
        why=why,
        fix=f"Verify pipelines without a transform, of format {', '.join(_FORMATS)}",
    )


def _notes(expected: Expected, report: Report, spans: Sequence[Span], layout: Layout | None) -> list[str]:
    notes = []
    if expected.rejected:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(expected.rejected.items()))
        notes.append(
            f"{expected.rejected.total():,} records cannot be applied and must leave no trace: {reasons}"
        )
    if expected.ignored:
        notes.append(
            f"{expected.ignored:,} records change nothing (only nulls, an old image, a heartbeat, a schema change)"
        )
    if report.beyond:
        notes.append(f"{report.beyond:,} cells are older than the log and are neither proved nor refuted")
    if report.foreign:
        notes.append(
            f"{report.foreign:,} cells are in families that the pipeline does not write; not looked at"
        )
    completed = newest_completed(layout) if layout else None
    if completed is not None:
        behind = sum(
            max(0, span.end - completed.sources[0].get(span.topic, {}).get(span.partition, span.begin))
            for span in spans
        )
        if behind:
            notes.append(
                f"checkpoint {completed.batch_id} is {behind:,} offsets behind the log: "
                "what the job has not read yet counts as missing"
            )
    return notes
