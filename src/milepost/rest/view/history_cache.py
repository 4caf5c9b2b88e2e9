"""What the durable history tells of a job's states and checkpoints, kept in bounded memory and read as it grows."""

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
class Stay:
    """One stay of the job in one state."""

    move: JobEvent
    heard_at: datetime
    """When the job was last heard of in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A checkpoint that ended, as a point of a chart."""

    checkpoint_id: int
    at: datetime
    trigger: str
    is_completed: bool
    duration_ms: int
    state_bytes: int = 0
    written_bytes: int = 0
    rows: int = 0


class Recollection:
    """The newest states and checkpoints of one directory; may be used from several threads."""

    def __init__(self, place: Store, clock: Callable[[], float] = time.monotonic) -> None:
        """Read nothing yet."""
        self._follower = HistoryFollower(place)
        self._clock = clock
        self._looked_at: float | None = None
        self._lock = threading.Lock()
        self._stays: deque[Stay] = deque(maxlen=STATES)
        self._marks: deque[Mark] = deque(maxlen=CHECKPOINTS)

    def stays(self) -> list[Stay]:
        """Return the states, oldest first."""
        with self._lock:
            self._look()
            return list(self._stays)

    def marks(self) -> list[Mark]:
        """Return the checkpoints that ended, oldest first."""
        with self._lock:
            self._look()
            return list(self._marks)

    def _look(self) -> None:
        """Read what is new, at most once a second however many ask."""
        now = self._clock()
        if self._looked_at is not None and now - self._looked_at < _EVERY:
            return
        self._looked_at = now
        for event in self._follower.news():
            self._add(event)

    def _add(self, event: Event) -> None:
        if isinstance(event, JobEvent):
            self._stays.append(Stay(event, event.at))
            return
        mark = mark_of(event)
        self._marks.append(mark)
        if self._stays:
            self._stays[-1].heard_at = max(self._stays[-1].heard_at, mark.at)


def mark_of(event: Ended) -> Mark:
    """Return a checkpoint as a point of a chart."""
    if isinstance(event, CompletedCheckpoint):
        return Mark(
            checkpoint_id=event.checkpoint_id,
            at=event.completed_at,
            trigger=event.trigger.name,
            is_completed=True,
            duration_ms=event.duration_ms,
            state_bytes=event.state_size,
            written_bytes=sum(a.bytes for a in event.acknowledgements if a.participant.startswith("writer/")),
            rows=event.rows,
        )
    return Mark(
        checkpoint_id=event.checkpoint_id,
        at=event.failed_at,
        trigger=event.trigger.name,
        is_completed=False,
        duration_ms=round((event.failed_at - event.triggered_at).total_seconds() * 1000),
    )
