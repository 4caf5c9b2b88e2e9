"""Decides when the next checkpoint is due. Pure: time is an argument, in seconds of one monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckpointSchedule:
    """How often checkpoints are triggered, and the pause after each one."""

    interval: float
    min_pause: float

    @property
    def is_free_running(self) -> bool:
        """Return whether one checkpoint follows the other without waiting (interval 0)."""
        return self.interval == 0 and self.min_pause == 0

    def first(self, started_at: float) -> float:
        """Return when the first checkpoint is due: at once, because of the backlog."""
        return started_at

    def next(self, *, triggered_at: float, completed_at: float) -> float:
        """Return when the next one is due: an interval after the last trigger, a pause after the last completion."""
        return max(triggered_at + self.interval, completed_at + self.min_pause)
