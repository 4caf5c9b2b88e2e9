"""What Flink has no metric for. Names as Prometheus wants them: base units, counters that end in `_total`."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

from milepost.checkpoint.model import Acknowledgement, FailureReason, Offsets
from milepost.job.monitoring.progress import NO_CHANGE
from milepost.rest.flink.vertices_body import WRITER
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
    one,
)
from milepost.rest.metrics.snapshot import Moment

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
    name: str, kind: Kind, text: str, read: Callable[[Moment], Iterable[Sample]], *labels: str
) -> Metric:
    return Metric(scope=Scope.MILEPOST, name=name, kind=kind, help=text, read=read, labels=labels)


def _gauge(name: str, text: str, value: Callable[[Moment], float | None]) -> Metric:
    return _metric(name, Kind.GAUGE, text, lambda moment: one(value(moment)))


def _build(_: Moment) -> Iterable[Sample]:
    labels = {
        "version": version("milepost"),
        "spark": version("pyspark"),
        "python": platform.python_version(),
    }
    return (Sample(1, labels),)


def _placed(offsets: Offsets) -> Iterator[Sample]:
    for topic, partitions in offsets.items():
        for partition, value in partitions.items():
            yield Sample(value, {"topic": topic, "partition": str(partition)})


def _position(moment: Moment) -> Iterator[Sample]:
    return _placed(moment.position)


def _group(moment: Moment) -> Iterator[Sample]:
    for stats in moment.commits.values():
        yield from _placed(stats.committed)


def _drift(moment: Moment) -> Iterator[Sample]:
    for stats in moment.commits.values():
        none = {topic: dict.fromkeys(partitions, 0) for topic, partitions in stats.committed.items()}
        for topic, partitions in stats.drift.items():
            none[topic] = {**none.get(topic, {}), **partitions}
        yield from _placed(none)


def _commits(moment: Moment) -> Iterator[Sample]:
    for view, stats in moment.commits.items():
        yield Sample(stats.succeeded, {"view": view, "outcome": "succeeded"})
        yield Sample(stats.failed, {"view": view, "outcome": "failed"})


def _lag(moment: Moment) -> Iterator[Sample]:
    for topic, partition, lag in moment.lags():
        yield Sample(lag, {"topic": topic, "partition": str(partition)})


def _retention(moment: Moment) -> Iterator[Sample]:
    for each in moment.standing or ():
        if each.verdict.left_ms is not None:
            left = each.verdict.left_ms / 1000
            yield Sample(left, {"topic": each.topic, "partition": str(each.partition)})


def _unrestorable(moment: Moment) -> float | None:
    return None if moment.standing is None else sum(each.verdict.is_lost for each in moment.standing)


def _rejected(moment: Moment) -> Iterator[Sample]:
    # A counter that is not there before its first count has no increase.
    counted = dict.fromkeys(REJECTIONS, 0) | dict(moment.rejected)
    for reason, count in counted.items():
        if reason != NO_CHANGE:
            yield Sample(count, {"reason": reason})


def _unchanged(moment: Moment) -> Iterable[Sample]:
    return one(moment.rejected.get(NO_CHANGE, 0))


def _late(moment: Moment) -> Iterator[Sample]:
    for view, source in moment.config.views.items():
        yield Sample(moment.checkpoints.late_of(source), {"view": view})


def _failures(moment: Moment) -> Iterator[Sample]:
    for reason in FailureReason:
        if not reason.is_preflight:
            yield Sample(moment.checkpoints.failures.get(reason, 0), {"reason": reason.name})


def _acks(moment: Moment, *, of_writers: bool) -> list[Acknowledgement]:
    newest = moment.checkpoints.latest_completed
    acks = newest.acknowledgements if newest else ()
    return [ack for ack in acks if ack.participant.startswith(f"{WRITER}/") == of_writers]


def _flush_max(moment: Moment) -> float | None:
    return max((ack.duration_ms / 1000 for ack in _acks(moment, of_writers=True)), default=None)


def _flush_mean(moment: Moment) -> float | None:
    acks = _acks(moment, of_writers=True)
    return sum(ack.duration_ms for ack in acks) / len(acks) / 1000 if acks else None


def _writers(moment: Moment) -> Iterator[Sample]:
    modes = Counter(str(ack.details.get("write", "stream")) for ack in _acks(moment, of_writers=True))
    for mode, count in sorted(modes.items()):
        yield Sample(count, {"write": mode})


def _participants(moment: Moment) -> Iterator[Sample]:
    for ack in _acks(moment, of_writers=False):
        yield Sample(ack.duration_ms / 1000, {"participant": ack.participant})


def _expected(moment: Moment) -> float:
    pending = moment.checkpoints.pending
    return len(pending.waiting_for) if pending else 0


def _acknowledged(moment: Moment) -> float:
    pending = moment.checkpoints.pending
    return len(pending.acknowledged) if pending else 0


def _interval(moment: Moment) -> float:
    return moment.config.checkpointing.interval.total_seconds()


def _rows(moment: Moment) -> float | None:
    newest = moment.checkpoints.latest_completed
    return None if newest is None else newest.rows


def _counted(key: str) -> Callable[[Moment], Iterable[Sample]]:
    return lambda moment: one(moment.totals(key))


METRICS: tuple[Metric, ...] = (
    _metric(
        "build_info",
        Kind.GAUGE,
        "Always 1; what runs is in the labels.",
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
    _gauge(
        "checkpoint_expected_acknowledgements", "Who has to acknowledge the checkpoint in flight.", _expected
    ),
    _gauge("checkpoint_acknowledgements", "Who of them has.", _acknowledged),
    _gauge("last_checkpoint_rows", "Rows that the writers wrote for the newest completed checkpoint.", _rows),
    _metric(
        "last_checkpoint_writers",
        Kind.GAUGE,
        "Writers of the newest completed checkpoint: mutations, bulk-load, or stream for other sinks.",
        _writers,
        "write",
    ),
    _gauge(
        "last_checkpoint_flush_max_seconds",
        "Longest time that one of its writers spent flushing.",
        _flush_max,
    ),
    _gauge("last_checkpoint_flush_mean_seconds", "Mean time that its writers spent flushing.", _flush_mean),
    _metric(
        "last_checkpoint_participant_seconds",
        Kind.GAUGE,
        "Time that each state store and Python participant took for it.",
        _participants,
        "participant",
    ),
    _gauge("lease_epoch", "Epoch of the lease that this driver holds.", lambda m: m.counters.epoch),
    _metric(
        "source_position",
        Kind.GAUGE,
        "Next offset to read; everything before it is in a completed checkpoint.",
        _position,
        *_PLACE,
    ),
    _metric(
        "source_lag",
        Kind.GAUGE,
        "Offsets from the position to the end of the log, where the broker was asked.",
        _lag,
        *_PLACE,
    ),
    _metric("group_offset", Kind.GAUGE, "Where the group stands, as far as the job knows.", _group, *_PLACE),
    _metric(
        "group_drift",
        Kind.GAUGE,
        "Offsets by which the group is ahead of the newest completed checkpoint.",
        _drift,
        *_PLACE,
    ),
    _metric(
        "group_commits_total", Kind.COUNTER, "Commits of offsets to the group.", _commits, "view", "outcome"
    ),
    _metric(
        "retention_left_seconds",
        Kind.GAUGE,
        "Least time until retention makes the newest checkpoint unrestorable, where the broker was asked.",
        _retention,
        *_PLACE,
    ),
    _gauge(
        "unrestorable_partitions",
        "Partitions of which records after the newest checkpoint are gone.",
        _unrestorable,
    ),
    _metric("rejected_records_total", Kind.COUNTER, "Bad records, by reason.", _rejected, "reason"),
    _metric(
        "late_records_total",
        Kind.COUNTER,
        "Records that operators dropped because they were late, earlier runs included.",
        _late,
        "view",
    ),
    _metric(
        "unchanged_records_total", Kind.COUNTER, "Records of a change log that change no row.", _unchanged
    ),
    _metric(
        "sink_rows_total", Kind.COUNTER, "Rows in the completed checkpoints of this run.", _counted("rows")
    ),
    _metric("sink_puts_total", Kind.COUNTER, "Rows that were written to HBase.", _counted("puts")),
    _metric("sink_deletes_total", Kind.COUNTER, "Rows that were deleted in HBase.", _counted("deletes")),
    _metric(
        "sink_superseded_total", Kind.COUNTER, "Rows that found a newer one in HBase.", _counted("superseded")
    ),
    _metric("sink_flushes_total", Kind.COUNTER, "Flushes of the writers.", _counted("flushes")),
    _metric("sink_bytes_total", Kind.COUNTER, "Bytes that the writers have sent.", _counted("bytes")),
)
