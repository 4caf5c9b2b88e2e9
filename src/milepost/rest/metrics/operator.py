"""Flink's metrics of sources and sinks: each source is a task with one operator, and so is the whole sink."""

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
from milepost.rest.metrics.snapshot import Snapshot

SINK = "Sink: Writer"
"""The vertex of the sink; its writers are counted together."""


def source_vertex(view: str) -> str:
    """Return the vertex of a source."""
    return f"Source: {view}"


def _by_source(
    value: Callable[[Snapshot, str, KafkaSource], float | None],
) -> Callable[[Snapshot], Iterable[Sample]]:
    def read(snapshot: Snapshot) -> Iterator[Sample]:
        for view, source in snapshot.config.views.items():
            found = value(snapshot, view, source)
            if found is not None:
                yield Sample(found, vertex=source_vertex(view))

    return read


def _by_sink(value: Callable[[Snapshot], float]) -> Callable[[Snapshot], Iterable[Sample]]:
    return lambda snapshot: (Sample(value(snapshot), vertex=SINK),)


def _both(*reads: Callable[[Snapshot], Iterable[Sample]]) -> Callable[[Snapshot], Iterable[Sample]]:
    return lambda snapshot: [sample for read in reads for sample in read(snapshot)]


def _read(snapshot: Snapshot, _: str, source: KafkaSource) -> float:
    return sum(count for topic, count in snapshot.counters.read.items() if source.reads(topic))


def _read_rate(snapshot: Snapshot, _: str, source: KafkaSource) -> float:
    return sum(rate for topic, rate in snapshot.counters.rates.read.items() if source.reads(topic))


def _rejected(snapshot: Snapshot, _: str, __: KafkaSource) -> float | None:
    """Return the rejected records; with several sources their source is unknown."""
    if len(snapshot.config.views) > 1:
        return None
    return sum(count for reason, count in snapshot.rejected.items() if reason != NO_CHANGE)


def _late(snapshot: Snapshot, _: str, source: KafkaSource) -> float:
    return snapshot.checkpoints.count_late(source)


def _pending(snapshot: Snapshot, _: str, source: KafkaSource) -> float | None:
    behind = [lag for topic, _, lag in snapshot.lags() if source.reads(topic)]
    return sum(behind) if behind else None


def _rows(snapshot: Snapshot) -> float:
    return snapshot.totals("rows")


def _row_rate(snapshot: Snapshot) -> float:
    return snapshot.counters.rates.rows


def _sent(snapshot: Snapshot) -> float:
    """Return the number of sent rows; some rows for HBase change nothing."""
    if isinstance(snapshot.config.sink.kind, HBaseSink):
        return snapshot.totals("puts") + snapshot.totals("deletes")
    return _rows(snapshot)


def _sent_rate(snapshot: Snapshot) -> float:
    rates = snapshot.counters.rates
    return rates.changes if isinstance(snapshot.config.sink.kind, HBaseSink) else rates.rows


def _bytes(snapshot: Snapshot) -> float:
    return snapshot.totals("bytes")


def _succeeded(snapshot: Snapshot, view: str, _: KafkaSource) -> float | None:
    stats = snapshot.commits.get(view)
    return None if stats is None else stats.succeeded


def _failed(snapshot: Snapshot, view: str, _: KafkaSource) -> float | None:
    stats = snapshot.commits.get(view)
    return None if stats is None else stats.failed


def _current_offsets(snapshot: Snapshot) -> Iterator[Sample]:
    for view, source in snapshot.config.views.items():
        for topic, partitions in snapshot.topics_of(source).items():
            for partition, offset in partitions.items():
                # Flink's offset is that of the last record, not of the next one; -1 before the first.
                yield Sample(max(offset - 1, -1), _place(topic, partition), source_vertex(view))


def _committed_offsets(snapshot: Snapshot) -> Iterator[Sample]:
    for view, stats in snapshot.commits.items():
        for topic, partitions in stats.committed.items():
            for partition, offset in partitions.items():
                yield Sample(offset, _place(topic, partition), source_vertex(view))


def _place(topic: str, partition: int) -> dict[str, str]:
    return {"topic": topic, "partition": str(partition)}


_READ_NOTE = "For a source: offsets in completed checkpoints since the start of the job"
_IO: tuple[tuple[str, Kind, str, Callable[[Snapshot], Iterable[Sample]]], ...] = (
    (
        "numRecordsIn",
        Kind.COUNTER,
        f"{_READ_NOTE}; for the sink: rows in the completed checkpoints of this run.",
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
        f"{_READ_NOTE}; for the sink: rows sent.",
        _both(_by_source(_read), _by_sink(_sent)),
    ),
    (
        "numRecordsOutPerSecond",
        Kind.METER,
        "The same per second, over the last minute.",
        _both(_by_source(_read_rate), _by_sink(_sent_rate)),
    ),
    ("numBytesOut", Kind.COUNTER, "For the sink: bytes sent.", _by_sink(_bytes)),
)
_OPERATOR: tuple[tuple[str, Kind, str, Callable[[Snapshot], Iterable[Sample]]], ...] = (
    (
        "numRecordsInErrors",
        Kind.COUNTER,
        "For a single source: bad records that were rejected.",
        _by_source(_rejected),
    ),
    (
        "numLateRecordsDropped",
        Kind.COUNTER,
        "For a source: late records that operators dropped, earlier runs included.",
        _by_source(_late),
    ),
    (
        "pendingRecords",
        Kind.GAUGE,
        "Offsets between the newest checkpoint and the end of the log, if the broker responds.",
        _by_source(_pending),
    ),
    (
        "KafkaSourceReader.commitsSucceeded",
        Kind.COUNTER,
        "Successful offset commits to the source's group.",
        _by_source(_succeeded),
    ),
    (
        "KafkaSourceReader.commitsFailed",
        Kind.COUNTER,
        "Failed offset commits to the source's group.",
        _by_source(_failed),
    ),
    ("numRecordsSend", Kind.COUNTER, "For the sink: rows sent.", _by_sink(_sent)),
    (
        "numRecordsSendErrors",
        Kind.COUNTER,
        "Always 0: a row that cannot be sent fails the checkpoint.",
        _by_sink(lambda _: 0),
    ),
    ("numBytesSend", Kind.COUNTER, "For the sink: bytes sent.", _by_sink(_bytes)),
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
        help="The last offset in a completed checkpoint; -1 before the first record.",
        read=_current_offsets,
        labels=("topic", "partition"),
    ),
    Metric(
        scope=Scope.OPERATOR,
        name="KafkaSourceReader.topic.partition.committedOffset",
        kind=Kind.GAUGE,
        help="Committed offset of the source's group, as far as the job knows.",
        read=_committed_offsets,
        labels=("topic", "partition"),
    ),
)
