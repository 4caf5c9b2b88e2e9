"""Flink's metrics of sources and the sink: each source is a task of one operator, and so is the sink as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from milepost.config import HBaseSink, KafkaSource
from milepost.job.monitoring.progress import NO_CHANGE
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
)
from milepost.rest.metrics.snapshot import Moment

SINK = "Sink: Writer"
"""The vertex of the sink; its writers are counted together."""


def source_vertex(view: str) -> str:
    """Return the vertex of a source."""
    return f"Source: {view}"


def _by_source(
    value: Callable[[Moment, str, KafkaSource], float | None],
) -> Callable[[Moment], Iterable[Sample]]:
    def read(moment: Moment) -> Iterator[Sample]:
        for view, source in moment.config.views.items():
            found = value(moment, view, source)
            if found is not None:
                yield Sample(found, vertex=source_vertex(view))

    return read


def _by_sink(value: Callable[[Moment], float]) -> Callable[[Moment], Iterable[Sample]]:
    return lambda moment: (Sample(value(moment), vertex=SINK),)


def _both(*reads: Callable[[Moment], Iterable[Sample]]) -> Callable[[Moment], Iterable[Sample]]:
    return lambda moment: [sample for read in reads for sample in read(moment)]


def _read(moment: Moment, _: str, source: KafkaSource) -> float:
    return sum(count for topic, count in moment.counters.read.items() if source.reads(topic))


def _read_rate(moment: Moment, _: str, source: KafkaSource) -> float:
    return sum(rate for topic, rate in moment.counters.rates.read.items() if source.reads(topic))


def _rejected(moment: Moment, _: str, __: KafkaSource) -> float | None:
    """Of several sources nobody knows whose record it was."""
    if len(moment.config.views) > 1:
        return None
    return sum(count for reason, count in moment.rejected.items() if reason != NO_CHANGE)


def _late(moment: Moment, _: str, source: KafkaSource) -> float:
    return moment.checkpoints.late_of(source)


def _pending(moment: Moment, _: str, source: KafkaSource) -> float | None:
    behind = [lag for topic, _, lag in moment.lags() if source.reads(topic)]
    return sum(behind) if behind else None


def _rows(moment: Moment) -> float:
    return moment.totals("rows")


def _row_rate(moment: Moment) -> float:
    return moment.counters.rates.rows


def _sent(moment: Moment) -> float:
    """Return how many rows have left: of HBase's rows some change nothing."""
    if isinstance(moment.config.sink.kind, HBaseSink):
        return moment.totals("puts") + moment.totals("deletes")
    return _rows(moment)


def _sent_rate(moment: Moment) -> float:
    rates = moment.counters.rates
    return rates.changes if isinstance(moment.config.sink.kind, HBaseSink) else rates.rows


def _bytes(moment: Moment) -> float:
    return moment.totals("bytes")


def _succeeded(moment: Moment, view: str, _: KafkaSource) -> float | None:
    stats = moment.commits.get(view)
    return None if stats is None else stats.succeeded


def _failed(moment: Moment, view: str, _: KafkaSource) -> float | None:
    stats = moment.commits.get(view)
    return None if stats is None else stats.failed


def _current_offsets(moment: Moment) -> Iterator[Sample]:
    for view, source in moment.config.views.items():
        for topic, partitions in moment.topics_of(source).items():
            for partition, offset in partitions.items():
                # Flink says which record was read last, not which is next; before the first it says -1.
                yield Sample(max(offset - 1, -1), _place(topic, partition), source_vertex(view))


def _committed_offsets(moment: Moment) -> Iterator[Sample]:
    for view, stats in moment.commits.items():
        for topic, partitions in stats.committed.items():
            for partition, offset in partitions.items():
                yield Sample(offset, _place(topic, partition), source_vertex(view))


def _place(topic: str, partition: int) -> dict[str, str]:
    return {"topic": topic, "partition": str(partition)}


_READ_NOTE = "Of a source: offsets of completed checkpoints since the job began"
_IO: tuple[tuple[str, Kind, str, Callable[[Moment], Iterable[Sample]]], ...] = (
    (
        "numRecordsIn",
        Kind.COUNTER,
        f"{_READ_NOTE}; of the sink: rows in the completed checkpoints of this run.",
        _both(_by_source(_read), _by_sink(_rows)),
    ),
    (
        "numRecordsInPerSecond",
        Kind.METER,
        "The same per second, over the last minute.",
        _both(_by_source(_read_rate), _by_sink(_row_rate)),
    ),
    (
        "numRecordsOut",
        Kind.COUNTER,
        f"{_READ_NOTE}; of the sink: rows that were sent.",
        _both(_by_source(_read), _by_sink(_sent)),
    ),
    (
        "numRecordsOutPerSecond",
        Kind.METER,
        "The same per second, over the last minute.",
        _both(_by_source(_read_rate), _by_sink(_sent_rate)),
    ),
    ("numBytesOut", Kind.COUNTER, "Of the sink: bytes that were sent.", _by_sink(_bytes)),
)
_OPERATOR: tuple[tuple[str, Kind, str, Callable[[Moment], Iterable[Sample]]], ...] = (
    (
        "numRecordsInErrors",
        Kind.COUNTER,
        "Of the only source: records that were rejected as bad.",
        _by_source(_rejected),
    ),
    (
        "numLateRecordsDropped",
        Kind.COUNTER,
        "Of a source: records that operators dropped because they were late, earlier runs included.",
        _by_source(_late),
    ),
    (
        "pendingRecords",
        Kind.GAUGE,
        "Offsets between the newest checkpoint and the end of the log, where the broker was asked.",
        _by_source(_pending),
    ),
    (
        "KafkaSourceReader.commitsSucceeded",
        Kind.COUNTER,
        "Commits of offsets to the source's group that succeeded.",
        _by_source(_succeeded),
    ),
    (
        "KafkaSourceReader.commitsFailed",
        Kind.COUNTER,
        "Commits of offsets to the source's group that failed.",
        _by_source(_failed),
    ),
    ("numRecordsSend", Kind.COUNTER, "Of the sink: rows that were sent.", _by_sink(_sent)),
    (
        "numRecordsSendErrors",
        Kind.COUNTER,
        "Always 0: a row that cannot be sent declines the checkpoint.",
        _by_sink(lambda _: 0),
    ),
    ("numBytesSend", Kind.COUNTER, "Of the sink: bytes that were sent.", _by_sink(_bytes)),
)

METRICS: tuple[Metric, ...] = (
    *(
        Metric(scope=scope, name=name, kind=kind, help=text, read=read)
        for scope in (Scope.TASK, Scope.OPERATOR)
        for name, kind, text, read in _IO
    ),
    *(
        Metric(scope=Scope.OPERATOR, name=name, kind=kind, help=text, read=read)
        for name, kind, text, read in _OPERATOR
    ),
    Metric(
        scope=Scope.OPERATOR,
        name="KafkaSourceReader.topic.partition.currentOffset",
        kind=Kind.GAUGE,
        help="The last offset that a completed checkpoint holds; -1 before the first.",
        read=_current_offsets,
        labels=("topic", "partition"),
    ),
    Metric(
        scope=Scope.OPERATOR,
        name="KafkaSourceReader.topic.partition.committedOffset",
        kind=Kind.GAUGE,
        help="Where the source's group stands, as far as the job knows.",
        read=_committed_offsets,
        labels=("topic", "partition"),
    ),
)
