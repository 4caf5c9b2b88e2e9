"""`verify`: from a pipeline's configuration to the proof that its table equals its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from milepost.checkpoint.store.spark_log import source_began
from milepost.checkpoint.store.store import Place, Store
from milepost.checkpoint.versions import versions
from milepost.config import Config, HBaseSink, KafkaSource
from milepost.errors import NotReachableError, PreflightError
from milepost.migrate.adopt_files import adopted_at
from milepost.source.librdkafka import client_properties
from milepost.verify.ahead import Ahead
from milepost.verify.boundary import Boundary, end_of, newest_boundary, require_job, require_topics
from milepost.verify.compare import Comparison
from milepost.verify.log import LogMovedError, Span, read, take_spans
from milepost.verify.oracle import Expected, Mapping, Oracle, Record
from milepost.verify.report import Report
from milepost.verify.schema import parse_schema
from milepost.verify.table import raw_cells
from milepost.verify.versions import FIRST, Era, era_index, parse_eras, undone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANY_VERSION = 1 << 63
_WATCH_EVERY = 10_000
_MOST_READS = 5
_FORMATS = ("raw", "string", "json", "debezium-json", "canal-json")


At = Literal["checkpoint", "end"]
"""Up to where the table is compared: the newest completed checkpoint, or the end of the log."""


def prepare(config: Config, at: At = "checkpoint") -> None:
    """Refuse what cannot be proved; needs neither Spark nor a broker."""
    Oracle(mapping_of(config))
    if at == "checkpoint":
        store = Store.at(config.checkpointing.dir)
        require_job(store)
        require_topics(store, _topics(config))


def verify_pipeline(
    config: Config,
    spark: SparkSession,
    *,
    at: At = "checkpoint",
    say: Callable[[str], None] = lambda _: None,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> Report:
    """Compare the table with the log up to the newest completed checkpoint; the job may run meanwhile.

    `watch` is told now and then how many of the log's offsets are read.

    The report of differences is a result and not an error: whoever must stop on it raises `report.error()`.
    """
    prepare(config, at)
    proof = _Proof(config, watch)
    head = proof.read_head(at)
    say(
        f"the log up to {head.boundary.name} has {head.expected.records:,} visible records"
        f" in {len(head.spans)} partitions"
    )
    comparison = Comparison(head.expected)
    comparison.scan(raw_cells(spark, table_options(config.sink.hbase)))
    report = comparison.report
    say(f"the table has {report.rows:,} rows and {report.cells:,} cells and markers of all versions")
    # What is in the table by now was in the log before: the end is asked for after the scan.
    ahead = proof.read_tail(head, comparison.suspects)
    comparison.conclude(ahead.rows)
    report.boundary, report.checkpoint = head.boundary.name, head.boundary.checkpoint_id
    report.not_yet_read = ahead.records
    report.notes.extend(_notes(head, report))
    return report


@dataclass(frozen=True, slots=True)
class _Head:
    """The log before the boundary."""

    boundary: Boundary
    spans: Sequence[Span]
    """Both sides of the boundary, as they were when it was taken."""
    expected: Expected


class _Proof:
    """Reads the log of one pipeline on both sides of the boundary."""

    def __init__(self, config: Config, watch: Callable[[int, int], None]) -> None:
        source = next(iter(config.views.values()))
        self._config = config
        self._watch = watch
        self._store = Store.at(config.checkpointing.dir)
        self._client = client_properties(source.client_properties)
        self._topics = _topics(config)

    def read_head(self, at: At) -> _Head:
        """Return what the log says up to the boundary; read again where retention has overtaken the reader."""
        for _ in range(_MOST_READS - 1):
            with suppress(LogMovedError):
                return self._read_head(at)
        return self._read_head(at)

    def _read_head(self, at: At) -> _Head:
        # The boundary comes first: the log and the table have at least what is before it, whenever they are read.
        boundary = newest_boundary(self._store) if at == "checkpoint" else None
        spans = self._spans()
        boundary = boundary or end_of(spans)
        mapping = mapping_of(self._config)
        oracle = Oracle(mapping)
        before = [boundary.before(span) for span in spans]
        self._read(before, oracle.apply)
        oracle.expected.horizons = horizons(before, mapping)
        oracle.expected.compacted = frozenset(span.topic for span in spans if span.compacted)
        return _Head(boundary, spans, oracle.expected)

    def read_tail(self, head: _Head, rows: Collection[bytes]) -> Ahead:
        """Return what the records after the boundary do to these rows, up to the end of the log as it is now."""
        if head.boundary.checkpoint_id is not None:
            _require_progress(head.boundary.checkpoint_id, newest_boundary(self._store))
        spans = self._spans()
        # A growth that the job has met since is an era by now, written down before its first cell.
        mapping = mapping_of(self._config)
        ahead = Ahead(mapping, rows)
        self._read([head.boundary.after(span) for span in spans], ahead.apply)
        head.expected.horizons = horizons(_read_spans(head, spans), mapping)
        return ahead

    def _spans(self) -> list[Span]:
        return take_spans(self._client, self._topics, begins=begins(self._store))

    def _read(self, spans: Sequence[Span], apply: Callable[[Record], None]) -> None:
        total = sum(span.end - span.begin for span in spans)
        for done, record in enumerate(read(self._client, spans), 1):
            apply(record)
            if done % _WATCH_EVERY == 0:
                self._watch(done, total)


def _read_spans(head: _Head, spans: Sequence[Span]) -> list[Span]:
    """Return what was read of each partition on both sides of the boundary."""
    first = {(span.topic, span.partition): span.begin for span in head.spans}
    return [
        span
        if span.begin > head.boundary.offset(span)
        else replace(span, begin=first.get((span.topic, span.partition), span.begin))
        for span in spans
    ]


def _require_progress(checkpoint_id: int, newest: Boundary) -> None:
    """Refuse to judge where the job was set back since the boundary was taken."""
    if newest.checkpoint_id is None or newest.checkpoint_id < checkpoint_id:
        raise NotReachableError(
            f"The job was set back from checkpoint {checkpoint_id} to {newest.name} while it was verified",
            fix="Verify again",
        )


def _topics(config: Config) -> list[str]:
    source = next(iter(config.views.values()))
    return [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())


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


def begins(place: Place) -> dict[tuple[str, int], int]:
    """Return where the job began: as it was adopted, or as Spark has written it down; empty where neither is so."""
    began = adopted_at(place) or source_began(place, 0) or {}
    return {(topic, p): offset for topic, parts in began.items() for p, offset in parts.items()}


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


def _notes(head: _Head, report: Report) -> list[str]:
    expected, notes = head.expected, []
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
    if head.boundary.checkpoint_id is None:
        notes.append(f"compared up to {head.boundary.name}, not up to a checkpoint")
    for span in head.spans:
        if head.boundary.offset(span) > span.end:
            notes.append(
                f"{span.topic}-{span.partition} ends at {span.end:,}, before {head.boundary.name}"
                f" at {head.boundary.offset(span):,}: the topic was created again, or has lost records"
            )
    return notes
