"""Limits the CPU time of the server, so that requests never slow down the stream.

The server shares the machine with the engine and the interpreter with the coordinator. Limiting the number of requests
is not enough: half-open connections, TLS handshakes and refused requests cost CPU time too. So all CPU time of the
server's threads is counted, and the event loop pauses when the budget is used up. It holds no lock while it pauses.
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
"""Share of one core in the long run."""
BURST = 2.0
"""Seconds of one core that may be used at once: many page loads, or a test with a thousand requests."""
HANDSHAKE_TIMEOUT = 10.0
_LONGEST_PAUSE = 0.25
_READ_EVERY = 0.05
_TASKS = Path("/proc/self/task")
_WORKER = "AnyIO worker thread"


@dataclass(slots=True)
class CpuBudget:
    """CPU seconds that accrue at a steady rate and are spent; a debt results in a pause."""

    share: float = SHARE
    burst: float = BURST
    clock: Callable[[], float] = time.monotonic
    _balance: float = field(init=False)
    _updated_at: float = field(init=False)

    def __post_init__(self) -> None:
        """Start with a full burst."""
        self._balance = self.burst
        self._updated_at = self.clock()

    def spend(self, seconds: float) -> float:
        """Deduct used seconds and return how long to pause now."""
        now = self.clock()
        gained = (now - self._updated_at) * self.share
        self._updated_at = now
        self._balance = min(self.burst, self._balance + gained) - seconds
        return min(_LONGEST_PAUSE, -self._balance / self.share) if self._balance < 0 else 0.0


class CpuMeter:
    """Measures the CPU time of the server's threads: the event loop and the request workers."""

    def __init__(self) -> None:
        self._loop = 0.0
        self._workers: dict[int, int] = {}
        self._updated_at = 0.0

    def read(self) -> float:
        """Return the seconds used since the last call; must be called by the thread of the loop."""
        before, self._loop = self._loop, time.thread_time()
        return self._loop - before + self._read_workers()

    def _read_workers(self) -> float:
        now = time.monotonic()
        if now - self._updated_at < _READ_EVERY:
            return 0.0
        self._updated_at = now
        counts = {
            thread.native_id: _nanoseconds(thread.native_id)
            for thread in threading.enumerate()
            if thread.name == _WORKER and thread.native_id is not None
        }
        used = sum(count - self._workers.get(thread, 0) for thread, count in counts.items())
        self._workers = counts
        return used / 1e9


def _nanoseconds(thread: int) -> int:
    """Return the CPU time of a thread; 0 if it has ended or the system does not report it."""
    try:
        return int((_TASKS / str(thread) / "schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class BudgetedSelector(selectors.DefaultSelector):
    """A selector that pauses for the budget and the connection limit before it waits for the network."""

    def __init__(
        self,
        budget: CpuBudget,
        pause: Callable[[float], None] = time.sleep,
        begin_round: Callable[[], float] = lambda: 0.0,
    ) -> None:
        super().__init__()
        self._budget = budget
        self._meter = CpuMeter()
        self._pause = pause
        self._begin_round = begin_round

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the ready events, after the required pause."""
        pause = max(self._budget.spend(self._meter.read()), self._begin_round())
        if pause > 0:
            self._pause(pause)
        return super().select(timeout)


class BudgetedLoop(asyncio.SelectorEventLoop):
    """The event loop of the server's thread."""

    def __init__(
        self, budget: CpuBudget | None = None, begin_round: Callable[[], float] = lambda: 0.0
    ) -> None:
        super().__init__(BudgetedSelector(budget or CpuBudget(), begin_round=begin_round))

    async def create_server(self, *arguments: Any, **options: Any) -> Any:
        """Start serving, with a limit on the time of TLS handshakes."""
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HANDSHAKE_TIMEOUT)
        return await super().create_server(*arguments, **options)
