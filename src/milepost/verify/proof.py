"""`verify`: proves from the configuration of a pipeline that its table equals its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from milepost.checkpoint.store.spark_log import source_began
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.config import Config, HBaseSink, KafkaSource
from milepost.errors import NotReachableError, PreflightError
from milepost.migrate.adopt_files import read_adopted_offsets
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
"""The boundary of the comparison: the newest completed checkpoint, or the end of the log."""


def prepare(config: Config, at: At = "checkpoint") -> None:
    """Refuse a pipeline that cannot be verified; needs neither Spark nor a broker."""
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
    """Compare the table with the log up to the newest completed checkpoint; the job may be running.

    `watch` is called periodically with the number of offsets that are read and their total.

    A report with differences is a result, not an error; callers that must stop raise `report.error()`.
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
    # Records reach the log before the table, so the end of the log is determined after the scan.
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
    """Both sides of the boundary, at the time it was determined."""
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
        """Return the log up to the boundary; retried if retention deletes records during the read."""
        for _ in range(_MOST_READS - 1):
            with suppress(LogMovedError):
                return self._read_head(at)
        return self._read_head(at)

    def _read_head(self, at: At) -> _Head:
        # The boundary is read first: later reads of log and table include everything before it.
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
        """Return the effects of the records after the boundary on these rows, up to the current end of the log."""
        if head.boundary.checkpoint_id is not None:
            _require_progress(head.boundary.checkpoint_id, newest_boundary(self._store))
        spans = self._spans()
        # Partition growth that the job has seen since is recorded as an era before its first cell.
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
    """Return the span that was read of each partition, on both sides of the boundary."""
    first = {(span.topic, span.partition): span.begin for span in head.spans}
    return [
        span
        if span.begin > head.boundary.offset(span)
        else replace(span, begin=first.get((span.topic, span.partition), span.begin))
        for span in spans
    ]


def _require_progress(checkpoint_id: int, newest: Boundary) -> None:
    """Refuse to compare if the job went back to an older checkpoint since the boundary was determined."""
    if newest.checkpoint_id is None or newest.checkpoint_id < checkpoint_id:
        raise NotReachableError(
            f"During the verification the job went back from checkpoint {checkpoint_id} to {newest.name}",
            fix="Run verify again",
        )


def _topics(config: Config) -> list[str]:
    source = next(iter(config.views.values()))
    return [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())


def mapping_of(config: Config) -> Mapping:
    """Return the mapping for the oracle; refuse a pipeline that it cannot model."""
    if len(config.views) > 1:
        raise _refusal(
            "it has several sources", "the model reads one source, and the transform combines them"
        )
    source, sink = next(iter(config.views.values())), config.sink.hbase
    version = sink.version if isinstance(sink.version, str) else f"column:{sink.version.column}"
    if config.transform is not None:
        raise _refusal("it has a transform", "the model cannot run user code to compute the expected table")
    if source.format not in _FORMATS:
        raise _refusal(f"its format is {_format_name(source)}", f"the model supports {', '.join(_FORMATS)}")
    if version == "server-time":
        raise _refusal(
            "its versions are the time of HBase",
            "at-least-once may contain repeated records, which cannot be detected",
        )
    if version == "checkpoint":
        raise _refusal(
            "its versions are checkpoint ids", "the log does not contain the checkpoint of a record"
        )
    if sink.guard == "cas":
        raise _refusal(
            "its table is guarded by cas", "the cells carry the time of HBase, which is not in the log"
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
    """Return the version eras that the job has recorded."""
    known = versions.recorded(Store.at(config.checkpointing.dir))
    return {} if known is None else parse_eras(known.topics)


def begins(store: Store) -> dict[tuple[str, int], int]:
    """Return the start offsets of the job from its adoption or from Spark's log; empty if neither exists."""
    began = read_adopted_offsets(store) or source_began(store, 0) or {}
    return {(topic, p): offset for topic, parts in began.items() for p, offset in parts.items()}


def horizons(spans: Sequence[Span], mapping: Mapping) -> dict[tuple[str, int], int]:
    """Return by partition the version below which records outside the span may have written."""
    result = {}
    for span in spans:
        eras = mapping.eras.get(span.topic, FIRST)
        if mapping.version != "offset":
            version = 0 if span.is_whole else _ANY_VERSION
        elif span.is_whole:
            # Lower generations were written from an earlier topic of the same name.
            version = eras[0].version(span.partition, 0, None)
        else:
            offset = span.end if span.compacted else span.begin
            era = eras[era_index(eras, span.partition, offset)]
            version = (
                (era.generation + 1) << 48 if era.is_timed else era.version(span.partition, offset, None)
            )
        result[span.topic, span.partition] = version
    if any(len(eras) > 1 for eras in mapping.eras.values()):
        # A row may have been in any partition, and cells that a rollback has undone have no record.
        gone = max((undone(eras) + 1) << 48 for eras in mapping.eras.values())
        return dict.fromkeys(result, max(gone, *result.values()))
    return result


def table_options(sink: HBaseSink) -> dict[str, str]:
    """Return the connection options of the table."""
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
        fix=f"Only pipelines without a transform can be verified, with format {', '.join(_FORMATS)}",
    )


def _notes(head: _Head, report: Report) -> list[str]:
    expected, notes = head.expected, []
    if expected.rejected:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(expected.rejected.items()))
        notes.append(f"{expected.rejected.total():,} bad records, which must not be in the table: {reasons}")
    if expected.ignored:
        notes.append(
            f"{expected.ignored:,} records change nothing (only nulls, an old image, a heartbeat, a schema change)"
        )
    if report.beyond:
        notes.append(f"{report.beyond:,} cells are older than the log and can be neither proved nor refuted")
    if report.foreign:
        notes.append(
            f"{report.foreign:,} cells are in families that the pipeline does not write, and were not checked"
        )
    if head.boundary.checkpoint_id is None:
        notes.append(f"compared up to {head.boundary.name}, not up to a checkpoint")
    for span in head.spans:
        if head.boundary.offset(span) > span.end:
            notes.append(
                f"{span.topic}-{span.partition} ends at {span.end:,}, before {head.boundary.name}"
                f" at {head.boundary.offset(span):,}: the topic was created again, or records were deleted"
            )
    return notes
