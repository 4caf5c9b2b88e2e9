"""How much of the processor the server may take: what is asked of it must never cost the stream.

The server shares the machine with the engine and the interpreter with the coordinator. A limit on requests would not
do: half-open connections, handshakes and refused requests cost too. So what the server's threads have used is counted,
whatever for, and who has used it up pauses, with nothing in its hands that another thread waits for.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHARE = 0.05
"""Of one core, in the long run."""
BURST = 2.0
"""Seconds of one core that may be used at once: many page loads, and a test that asks a thousand times."""
HANDSHAKE_TIMEOUT = 10.0
_LONGEST_PAUSE = 0.25
_LOOK_EVERY = 0.05
_TASKS = Path("/proc/self/task")
_WORKER = "AnyIO worker thread"


@dataclass(slots=True)
class Budget:
    """Seconds of a processor that come in at a steady rate and are spent; a debt is waited for."""

    share: float = SHARE
    burst: float = BURST
    clock: Callable[[], float] = time.monotonic
    _balance: float = field(init=False)
    _looked_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin with all that may be used at once."""
        self._balance = self.burst
        self._looked_at = self.clock()

    def spend(self, seconds: float) -> float:
        """Take what was used, and return for how long to pause now."""
        now = self.clock()
        gained = (now - self._looked_at) * self.share
        self._looked_at = now
        self._balance = min(self.burst, self._balance + gained) - seconds
        return min(_LONGEST_PAUSE, -self._balance / self.share) if self._balance < 0 else 0.0


class Meter:
    """What the threads of the server have used: the one of its loop, and those that work on requests."""

    def __init__(self) -> None:
        """Begin now."""
        self._loop = 0.0
        self._workers: dict[int, int] = {}
        self._looked_at = 0.0

    def used(self) -> float:
        """Return the seconds since the last look; to be asked by the loop's own thread."""
        before, self._loop = self._loop, time.thread_time()
        return self._loop - before + self._used_by_workers()

    def _used_by_workers(self) -> float:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_EVERY:
            return 0.0
        self._looked_at = now
        seen = {
            thread.native_id: _nanoseconds(thread.native_id)
            for thread in threading.enumerate()
            if thread.name == _WORKER and thread.native_id is not None
        }
        used = sum(count - self._workers.get(thread, 0) for thread, count in seen.items())
        self._workers = seen
        return used / 1e9


def _nanoseconds(thread: int) -> int:
    """Return what a thread has used; 0 where it is gone, or where the system does not say."""
    try:
        return int((_TASKS / str(thread) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class ThriftySelector(selectors.DefaultSelector):
    """Waits for the network as every selector does, and before that for the budget, and for what else says how long."""

    def __init__(
        self,
        budget: Budget,
        pause: Callable[[float], None] = time.sleep,
        begin_round: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Begin with an untouched budget."""
        super().__init__()
        self._budget = budget
        self._meter = Meter()
        self._pause = pause
        self._begin_round = begin_round

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, after the pause that is due."""
        pause = max(self._budget.spend(self._meter.used()), self._begin_round())
        if pause > 0:
            self._pause(pause)
        return super().select(timeout)


class ThriftyLoop(asyncio.SelectorEventLoop):
    """The loop of the server's thread."""

    def __init__(self, budget: Budget | None = None, begin_round: Callable[[], float] = lambda: 0.0) -> None:
        """Run on a budget of its own."""
        super().__init__(ThriftySelector(budget or Budget(), begin_round=begin_round))

    async def create_server(self, *arguments: Any, **options: Any) -> Any:
        """Serve; a handshake that does not come in time is given up as soon as headers are."""
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HANDSHAKE_TIMEOUT)
        return await super().create_server(*arguments, **options)
