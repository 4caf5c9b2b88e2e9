"""The clocks of the coordinator: wall-clock time for people, monotonic time for decisions."""

from __future__ import annotations

import time
from datetime import datetime, timezone


def utc_now() -> datetime:
    """Return the wall-clock time."""
    return datetime.now(timezone.utc)


class Clock:
    """The clocks of this machine; tests replace them."""

    def now(self) -> datetime:
        """Return the wall-clock time, for manifests and history; it may jump."""
        return utc_now()

    def monotonic(self) -> float:
        """Return monotonic seconds, for intervals and timeouts."""
        return time.monotonic()
