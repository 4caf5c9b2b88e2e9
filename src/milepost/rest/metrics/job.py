"""Flink's metrics of a job: checkpoints and availability."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.job.status import JobStatus
from milepost.rest.flink.checkpoint_statistics import external_path
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
    single_sample,
)
from milepost.rest.metrics.snapshot import Snapshot
from milepost.rest.timestamps import milliseconds

NONE = -1
"""Flink's value before the first checkpoint."""
STATUSES = ("initializing", "created", "running", "failing", "cancelling", "restarting")
"""The statuses whose time Flink measures, in its order."""


def _gauge(name: str, text: str, value: Callable[[Snapshot], float | None]) -> Metric:
    return Metric(
        scope=Scope.JOB,
        name=name,
        kind=Kind.GAUGE,
        help=text,
        read=lambda snapshot: single_sample(value(snapshot)),
    )


def _last(name: str, text: str, value: Callable[[CompletedCheckpoint], float]) -> Metric:
    def read(snapshot: Snapshot) -> float:
        newest = snapshot.checkpoints.latest_completed
        return NONE if newest is None else value(newest)

    return _gauge(name, text, read)


def _restored_at(snapshot: Snapshot) -> float:
    checkpoints = snapshot.checkpoints
    if checkpoints.restored is None or checkpoints.restored_at is None:
        return NONE
    return milliseconds(checkpoints.restored_at)


def _path(snapshot: Snapshot) -> Iterable[Sample]:
    newest = snapshot.checkpoints.latest_completed
    return single_sample("n/a" if newest is None else external_path(newest, snapshot.config.checkpointing))


def _total(snapshot: Snapshot) -> float:
    checkpoints = snapshot.checkpoints
    return checkpoints.completed + checkpoints.failed + _in_progress(snapshot)


def _in_progress(snapshot: Snapshot) -> float:
    return int(snapshot.checkpoints.pending is not None)


def _uptime(snapshot: Snapshot) -> float:
    if snapshot.status.is_terminal:
        return NONE
    return _current_time("running", snapshot)


def _downtime(snapshot: Snapshot) -> float:
    if snapshot.status.is_terminal:
        return NONE
    return _current_time("restarting", snapshot)


def _current_time(status: str, snapshot: Snapshot) -> float:
    known = _status(status)
    return (
        0
        if known is None
        else round(snapshot.counters.times.current(known, snapshot.at).total_seconds() * 1000)
    )


def _total_time(status: str, snapshot: Snapshot) -> float:
    known = _status(status)
    return (
        0
        if known is None
        else round(snapshot.counters.times.total(known, snapshot.at).total_seconds() * 1000)
    )


def _status(name: str) -> JobStatus | None:
    """Return the status with Flink's name; a job never has some of them here."""
    return JobStatus.__members__.get(name.upper())


def _of_status(name: str) -> tuple[Metric, ...]:
    word = name.upper()
    return (
        _gauge(f"{name}State", f"1 while the job is {word}, else 0.", lambda m: int(m.status.value == word)),
        _gauge(
            f"{name}Time",
            f"Milliseconds since the job entered {word}; 0 in any other state.",
            lambda m: _current_time(name, m),
        ),
        _gauge(
            f"{name}TimeTotal",
            f"Total milliseconds in {word} since the start of the job.",
            lambda m: _total_time(name, m),
        ),
    )


METRICS: tuple[Metric, ...] = (
    _last(
        "lastCheckpointDuration",
        "Duration of the newest completed checkpoint in milliseconds.",
        lambda c: c.duration_ms,
    ),
    _last("lastCheckpointSize", "Bytes of state in the newest completed checkpoint.", lambda c: c.state_size),
    _last(
        "lastCheckpointFullSize",
        "The same as lastCheckpointSize: Spark does not report the incremental size.",
        lambda c: c.state_size,
    ),
    _last("lastCompletedCheckpointId", "Id of the newest completed checkpoint.", lambda c: c.checkpoint_id),
    _last(
        "lastCheckpointCompletedTimestamp",
        "When the newest checkpoint completed, in milliseconds since the epoch.",
        lambda c: milliseconds(c.completed_at),
    ),
    Metric(
        scope=Scope.JOB,
        name="lastCheckpointExternalPath",
        kind=Kind.TEXT,
        help="Path of the newest completed checkpoint.",
        read=_path,
    ),
    _gauge(
        "lastCheckpointRestoreTimestamp",
        "When the job was last restored from a checkpoint, in milliseconds since the epoch.",
        _restored_at,
    ),
    _gauge("numberOfInProgressCheckpoints", "Checkpoints in flight: 0 or 1.", _in_progress),
    _gauge(
        "numberOfCompletedCheckpoints",
        "Completed checkpoints, earlier runs included.",
        lambda m: m.checkpoints.completed,
    ),
    _gauge(
        "numberOfFailedCheckpoints",
        "Failed checkpoints, earlier runs included.",
        lambda m: m.checkpoints.failed,
    ),
    _gauge("totalNumberOfCheckpoints", "Triggered checkpoints, earlier runs included.", _total),
    _gauge(
        "numRestarts", "Restarts of this run, including those that failed to start.", lambda m: m.restarts
    ),
    _gauge(
        "uptime",
        "Milliseconds that the job has been running without interruption; -1 after its end.",
        _uptime,
    ),
    _gauge(
        "downtime",
        "Milliseconds that a failed job has been waiting for its restart; -1 after its end.",
        _downtime,
    ),
    *(metric for name in STATUSES for metric in _of_status(name)),
)
