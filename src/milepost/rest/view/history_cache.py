"""Caches the states and checkpoints in the durable history in bounded memory, and reads it as it grows."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.stats.counts import Ended
from milepost.checkpoint.store.history import Event, JobEvent
from milepost.checkpoint.store.history_follower import HistoryFollower
from milepost.checkpoint.store.store import Store

STATES = 500
CHECKPOINTS = 1000
_EVERY = 1.0


@dataclass(slots=True)
class StateInterval:
    """A period that the job spent in one state."""

    event: JobEvent
    last_seen_at: datetime
    """The time of the last event in this state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPoint:
    """An ended checkpoint as a point of a chart."""

    checkpoint_id: int
    at: datetime
    trigger: str
    is_completed: bool
    duration_ms: int
    state_bytes: int = 0
    written_bytes: int = 0
    rows: int = 0


class HistoryCache:
    """The newest states and checkpoints of one directory. Thread-safe."""

    def __init__(self, place: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._follower = HistoryFollower(place)
        self._clock = clock
        self._read_at: float | None = None
        self._lock = threading.Lock()
        self._intervals: deque[StateInterval] = deque(maxlen=STATES)
        self._points: deque[CheckpointPoint] = deque(maxlen=CHECKPOINTS)

    def state_intervals(self) -> list[StateInterval]:
        """Return the states, oldest first."""
        with self._lock:
            self._read_new()
            return list(self._intervals)

    def checkpoint_points(self) -> list[CheckpointPoint]:
        """Return the ended checkpoints, oldest first."""
        with self._lock:
            self._read_new()
            return list(self._points)

    def _read_new(self) -> None:
        """Read new events, at most once a second."""
        now = self._clock()
        if self._read_at is not None and now - self._read_at < _EVERY:
            return
        self._read_at = now
        for event in self._follower.news():
            self._add(event)

    def _add(self, event: Event) -> None:
        if isinstance(event, JobEvent):
            self._intervals.append(StateInterval(event, event.at))
            return
        point = to_point(event)
        self._points.append(point)
        if self._intervals:
            self._intervals[-1].last_seen_at = max(self._intervals[-1].last_seen_at, point.at)


def to_point(event: Ended) -> CheckpointPoint:
    """Return a checkpoint as a point of a chart."""
    if isinstance(event, CompletedCheckpoint):
        return CheckpointPoint(
            checkpoint_id=event.checkpoint_id,
            at=event.completed_at,
            trigger=event.trigger.name,
            is_completed=True,
            duration_ms=event.duration_ms,
            state_bytes=event.state_size,
            written_bytes=sum(a.bytes for a in event.acknowledgements if a.participant.startswith("writer/")),
            rows=event.rows,
        )
    return CheckpointPoint(
        checkpoint_id=event.checkpoint_id,
        at=event.failed_at,
        trigger=event.trigger.name,
        is_completed=False,
        duration_ms=round((event.failed_at - event.triggered_at).total_seconds() * 1000),
    )
