"""Time as the spine knows it: the wall's, to tell people when; the monotonic one, to decide."""

from __future__ import annotations

import time
from datetime import datetime, timezone


def utc_now() -> datetime:
    """Return the time on the wall."""
    return datetime.now(timezone.utc)


class Clock:
    """The clocks of this machine; tests bring their own."""

    def now(self) -> datetime:
        """Return the time on the wall, for manifests and history: it may jump."""
        return utc_now()

    def monotonic(self) -> float:
        """Return seconds that only grow, for intervals and timeouts."""
        return time.monotonic()
