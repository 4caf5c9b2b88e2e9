"""Flink's metrics of the job as a whole: checkpoints, availability."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.job.status import JobStatus
from milepost.rest.flink.checkpoints_body import external_path
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.metrics.model import (
    Kind,
    Metric,
    Sample,
    Scope,
    one,
)
from milepost.rest.metrics.snapshot import Moment

NONE = -1
"""What Flink says where there was no checkpoint yet."""
STATUSES = ("initializing", "created", "running", "failing", "cancelling", "restarting")
"""The statuses that Flink counts the time of, in its order."""


def _gauge(name: str, text: str, value: Callable[[Moment], float | None]) -> Metric:
    return Metric(
        scope=Scope.JOB, name=name, kind=Kind.GAUGE, help=text, read=lambda moment: one(value(moment))
    )


def _last(name: str, text: str, value: Callable[[CompletedCheckpoint], float]) -> Metric:
    def read(moment: Moment) -> float:
        newest = moment.checkpoints.latest_completed
        return NONE if newest is None else value(newest)

    return _gauge(name, text, read)


def _restored_at(moment: Moment) -> float:
    seen = moment.checkpoints
    return NONE if seen.restored is None or seen.restored_at is None else milliseconds(seen.restored_at)


def _path(moment: Moment) -> Iterable[Sample]:
    newest = moment.checkpoints.latest_completed
    return one("n/a" if newest is None else external_path(newest, moment.config.checkpointing))


def _total(moment: Moment) -> float:
    seen = moment.checkpoints
    return seen.completed + seen.failed + _in_progress(moment)


def _in_progress(moment: Moment) -> float:
    return int(moment.checkpoints.pending is not None)


def _uptime(moment: Moment) -> float:
    if moment.status.is_terminal:
        return NONE
    return _current("running", moment)


def _downtime(moment: Moment) -> float:
    if moment.status.is_terminal:
        return NONE
    return _current("restarting", moment)


def _current(status: str, moment: Moment) -> float:
    known = _status(status)
    return (
        0 if known is None else round(moment.counters.times.current(known, moment.at).total_seconds() * 1000)
    )


def _altogether(status: str, moment: Moment) -> float:
    known = _status(status)
    return 0 if known is None else round(moment.counters.times.total(known, moment.at).total_seconds() * 1000)


def _status(name: str) -> JobStatus | None:
    """Return the status of Flink's word; some a job never has here."""
    return JobStatus.__members__.get(name.upper())


def _of_status(name: str) -> tuple[Metric, ...]:
    word = name.upper()
    return (
        _gauge(f"{name}State", f"1 while the job is {word}, else 0.", lambda m: int(m.status.value == word)),
        _gauge(
            f"{name}Time",
            f"Milliseconds since the job came into {word}; 0 in any other.",
            lambda m: _current(name, m),
        ),
        _gauge(
            f"{name}TimeTotal", f"Milliseconds in {word} since the job began.", lambda m: _altogether(name, m)
        ),
    )


METRICS: tuple[Metric, ...] = (
    _last(
        "lastCheckpointDuration",
        "Milliseconds that the newest completed checkpoint took.",
        lambda c: c.duration_ms,
    ),
    _last("lastCheckpointSize", "Bytes of state in the newest completed checkpoint.", lambda c: c.state_size),
    _last(
        "lastCheckpointFullSize", "The same: Spark does not tell what of it is new.", lambda c: c.state_size
    ),
    _last("lastCompletedCheckpointId", "Id of the newest completed checkpoint.", lambda c: c.checkpoint_id),
    _last(
        "lastCheckpointCompletedTimestamp",
        "When the newest checkpoint completed, in milliseconds since 1970.",
        lambda c: milliseconds(c.completed_at),
    ),
    Metric(
        scope=Scope.JOB,
        name="lastCheckpointExternalPath",
        kind=Kind.TEXT,
        help="Where the newest completed checkpoint lies.",
        read=_path,
    ),
    _gauge(
        "lastCheckpointRestoreTimestamp",
        "When the job last began from a checkpoint, in milliseconds since 1970.",
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
    _gauge("totalNumberOfCheckpoints", "Checkpoints that were begun, earlier runs included.", _total),
    _gauge("numRestarts", "Restarts of this run, also those whose start failed.", lambda m: m.restarts),
    _gauge("uptime", "Milliseconds that the job runs without a break; -1 when it has ended.", _uptime),
    _gauge(
        "downtime", "Milliseconds that a failed job waits for its restart; -1 when it has ended.", _downtime
    ),
    *(metric for name in STATUSES for metric in _of_status(name)),
)
