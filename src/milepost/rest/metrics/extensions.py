"""Metrics that Flink does not have, with Prometheus' naming: base units, and counters that end in `_total`."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

from milepost.checkpoint.model import Acknowledgement, AckResult, FailureReason, Offsets
from milepost.job.monitoring.progress import NO_CHANGE
from milepost.rest.flink.job_vertex import WRITER
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
    single_sample,
)
from milepost.rest.metrics.snapshot import Snapshot

_PLACE = ("topic", "partition")
REJECTIONS = (
    "MALFORMED",
    "EMPTY_VALUE",
    "NULL_DOCUMENT",
    "WRONG_SCHEMA",
    "DESERIALIZER_FAILED",
    "BAD_ROW_KEY",
    "UNKNOWN_OP",
    "BAD_VERSION",
    "OVERSIZED",
    "BAD_COLUMN",
)
"""Why the engine rejects a record."""


def _metric(
    name: str, kind: Kind, text: str, read: Callable[[Snapshot], Iterable[Sample]], *labels: str
) -> Metric:
    return Metric(scope=Scope.MILEPOST, name=name, kind=kind, help=text, read=read, labels=labels)


def _gauge(name: str, text: str, value: Callable[[Snapshot], float | None]) -> Metric:
    return _metric(name, Kind.GAUGE, text, lambda snapshot: single_sample(value(snapshot)))


def _build(_: Snapshot) -> Iterable[Sample]:
    labels = {
        "version": version("milepost"),
        "spark": version("pyspark"),
        "python": platform.python_version(),
    }
    return (Sample(1, labels),)


def _by_partition(offsets: Offsets) -> Iterator[Sample]:
    for topic, partitions in offsets.items():
        for partition, value in partitions.items():
            yield Sample(value, {"topic": topic, "partition": str(partition)})


def _position(snapshot: Snapshot) -> Iterator[Sample]:
    return _by_partition(snapshot.position)


def _group(snapshot: Snapshot) -> Iterator[Sample]:
    for stats in snapshot.commits.values():
        yield from _by_partition(stats.committed)


def _drift(snapshot: Snapshot) -> Iterator[Sample]:
    for stats in snapshot.commits.values():
        none = {topic: dict.fromkeys(partitions, 0) for topic, partitions in stats.committed.items()}
        for topic, partitions in stats.drift.items():
            none[topic] = {**none.get(topic, {}), **partitions}
        yield from _by_partition(none)


def _commits(snapshot: Snapshot) -> Iterator[Sample]:
    for view, stats in snapshot.commits.items():
        yield Sample(stats.succeeded, {"view": view, "outcome": "succeeded"})
        yield Sample(stats.failed, {"view": view, "outcome": "failed"})


def _lag(snapshot: Snapshot) -> Iterator[Sample]:
    for topic, partition, lag in snapshot.lags():
        yield Sample(lag, {"topic": topic, "partition": str(partition)})


def _retention(snapshot: Snapshot) -> Iterator[Sample]:
    for each in snapshot.offsets or ():
        if each.verdict.left_ms is not None:
            left = each.verdict.left_ms / 1000
            yield Sample(left, {"topic": each.topic, "partition": str(each.partition)})


def _unrestorable(snapshot: Snapshot) -> float | None:
    return None if snapshot.offsets is None else sum(each.verdict.is_lost for each in snapshot.offsets)


def _rejected(snapshot: Snapshot) -> Iterator[Sample]:
    # A counter that is absent before its first count shows no increase.
    counted = dict.fromkeys(REJECTIONS, 0) | dict(snapshot.rejected)
    for reason, count in counted.items():
        if reason != NO_CHANGE:
            yield Sample(count, {"reason": reason})


def _unchanged(snapshot: Snapshot) -> Iterable[Sample]:
    return single_sample(snapshot.rejected.get(NO_CHANGE, 0))


def _late(snapshot: Snapshot) -> Iterator[Sample]:
    for view, source in snapshot.config.views.items():
        yield Sample(snapshot.checkpoints.count_late(source), {"view": view})


def _failures(snapshot: Snapshot) -> Iterator[Sample]:
    for reason in FailureReason:
        if not reason.is_preflight:
            yield Sample(snapshot.checkpoints.failures.get(reason, 0), {"reason": reason.name})


def _acknowledgements(snapshot: Snapshot) -> Iterator[Sample]:
    for result in AckResult:
        yield Sample(snapshot.checkpoints.acknowledgements.get(result, 0), {"result": result.name})


def _refused_triggers(snapshot: Snapshot) -> Iterator[Sample]:
    for reason in FailureReason:
        if reason.is_preflight or reason is FailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN:
            yield Sample(snapshot.checkpoints.refused_triggers.get(reason, 0), {"reason": reason.name})


def _acks(snapshot: Snapshot, *, of_writers: bool) -> list[Acknowledgement]:
    newest = snapshot.checkpoints.latest_completed
    acks = newest.acknowledgements if newest else ()
    return [ack for ack in acks if ack.participant.startswith(f"{WRITER}/") == of_writers]


def _flush_max(snapshot: Snapshot) -> float | None:
    return max((ack.duration_ms / 1000 for ack in _acks(snapshot, of_writers=True)), default=None)


def _flush_mean(snapshot: Snapshot) -> float | None:
    acks = _acks(snapshot, of_writers=True)
    return sum(ack.duration_ms for ack in acks) / len(acks) / 1000 if acks else None


def _writers(snapshot: Snapshot) -> Iterator[Sample]:
    modes = Counter(str(ack.details.get("write", "stream")) for ack in _acks(snapshot, of_writers=True))
    for mode, count in sorted(modes.items()):
        yield Sample(count, {"write": mode})


def _participants(snapshot: Snapshot) -> Iterator[Sample]:
    for ack in _acks(snapshot, of_writers=False):
        yield Sample(ack.duration_ms / 1000, {"participant": ack.participant})


def _expected(snapshot: Snapshot) -> float:
    pending = snapshot.checkpoints.pending
    return len(pending.waiting_for) if pending else 0


def _acknowledged(snapshot: Snapshot) -> float:
    pending = snapshot.checkpoints.pending
    return len(pending.acknowledged) if pending else 0


def _interval(snapshot: Snapshot) -> float:
    return snapshot.config.checkpointing.interval.total_seconds()


def _rows(snapshot: Snapshot) -> float | None:
    newest = snapshot.checkpoints.latest_completed
    return None if newest is None else newest.rows


def _run_total(key: str) -> Callable[[Snapshot], Iterable[Sample]]:
    return lambda snapshot: single_sample(snapshot.totals(key))


METRICS: tuple[Metric, ...] = (
    _metric(
        "build_info",
        Kind.GAUGE,
        "Always 1; the labels contain the versions.",
        _build,
        "version",
        "spark",
        "python",
    ),
    _gauge("checkpoint_interval_seconds", "checkpointing.interval.", _interval),
    _metric(
        "checkpoint_failures_total",
        Kind.COUNTER,
        "Failed checkpoints, earlier runs included.",
        _failures,
        "reason",
    ),
    _metric(
        "checkpoint_refused_triggers_total",
        Kind.COUNTER,
        "Checkpoints that did not begin when they were due or requested, in this process.",
        _refused_triggers,
        "reason",
    ),
    _metric(
        "participant_acknowledgements_total",
        Kind.COUNTER,
        "Acknowledgements of Python participants in this process; only SUCCESS counts for a checkpoint.",
        _acknowledgements,
        "result",
    ),
    _gauge(
        "checkpoint_expected_acknowledgements",
        "Expected acknowledgements of the checkpoint in flight.",
        _expected,
    ),
    _gauge(
        "checkpoint_acknowledgements", "Received acknowledgements of the checkpoint in flight.", _acknowledged
    ),
    _gauge("last_checkpoint_rows", "Rows written for the newest completed checkpoint.", _rows),
    _metric(
        "last_checkpoint_writers",
        Kind.GAUGE,
        "Writers of the newest completed checkpoint: mutations, bulk-load, or stream for other sinks.",
        _writers,
        "write",
    ),
    _gauge(
        "last_checkpoint_flush_max_seconds",
        "Longest flush time of a writer in the newest completed checkpoint.",
        _flush_max,
    ),
    _gauge(
        "last_checkpoint_flush_mean_seconds",
        "Mean flush time of the writers in the newest completed checkpoint.",
        _flush_mean,
    ),
    _metric(
        "last_checkpoint_participant_seconds",
        Kind.GAUGE,
        "Time that each state store and Python participant took for the newest completed checkpoint.",
        _participants,
        "participant",
    ),
    _gauge("lease_epoch", "Epoch of this driver's lease.", lambda m: m.counters.epoch),
    _metric(
        "source_position",
        Kind.GAUGE,
        "Next offset to read; all earlier offsets are in a completed checkpoint.",
        _position,
        *_PLACE,
    ),
    _metric(
        "source_lag",
        Kind.GAUGE,
        "Offsets between the position and the end of the log, if the broker responds.",
        _lag,
        *_PLACE,
    ),
    _metric(
        "group_offset", Kind.GAUGE, "Committed offset of the group, as far as the job knows.", _group, *_PLACE
    ),
    _metric(
        "group_drift",
        Kind.GAUGE,
        "Offsets by which the group is ahead of the newest completed checkpoint.",
        _drift,
        *_PLACE,
    ),
    _metric("group_commits_total", Kind.COUNTER, "Offset commits to the group.", _commits, "view", "outcome"),
    _metric(
        "retention_left_seconds",
        Kind.GAUGE,
        "Minimum time until retention makes the newest checkpoint unrestorable, if the broker responds.",
        _retention,
        *_PLACE,
    ),
    _gauge(
        "unrestorable_partitions",
        "Partitions that have lost records after the newest checkpoint.",
        _unrestorable,
    ),
    _metric("rejected_records_total", Kind.COUNTER, "Bad records, by reason.", _rejected, "reason"),
    _metric(
        "late_records_total",
        Kind.COUNTER,
        "Late records that operators dropped, earlier runs included.",
        _late,
        "view",
    ),
    _metric("unchanged_records_total", Kind.COUNTER, "Changelog records that change no row.", _unchanged),
    _metric(
        "sink_rows_total", Kind.COUNTER, "Rows in the completed checkpoints of this run.", _run_total("rows")
    ),
    _metric("sink_puts_total", Kind.COUNTER, "Rows written to HBase.", _run_total("puts")),
    _metric("sink_deletes_total", Kind.COUNTER, "Rows deleted in HBase.", _run_total("deletes")),
    _metric(
        "sink_superseded_total",
        Kind.COUNTER,
        "Rows for which HBase has a newer version.",
        _run_total("superseded"),
    ),
    _metric("sink_flushes_total", Kind.COUNTER, "Flushes of the writers.", _run_total("flushes")),
    _metric("sink_bytes_total", Kind.COUNTER, "Bytes sent by the writers.", _run_total("bytes")),
)
