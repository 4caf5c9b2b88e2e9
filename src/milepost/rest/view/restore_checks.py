"""Dry runs of restores: one at a time, each on its own thread with a time limit; recent results are kept."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.inspect.restore_check import RestoreCheck
from milepost.rest.server.refusal import Refusal
from milepost.rest.view.background_query import describe_error

LIMIT = 60.0
FRESH_FOR = 30.0
KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCheckRun:
    """One dry run."""

    name: str
    started_at: datetime
    ended_at: datetime | None = None
    result: RestoreCheck | None = None
    error: str | None = None
    """Why the savepoint cannot be restored, or could not be checked."""


class RestoreChecks:
    """The dry runs of one server. Thread-safe."""

    def __init__(
        self,
        check: Callable[[Savepoint], RestoreCheck],
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check = check
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[RestoreCheckRun, float]] = OrderedDict()
        self._running: str | None = None

    def get_or_start(self, name: str, savepoint: Savepoint) -> RestoreCheckRun:
        """Return the check of a savepoint, and start one if there is no recent result."""
        with self._lock:
            if self._running == name:
                return self._current(name)
            known = self._known.get(name)
            if known is not None and self._clock() - known[1] < FRESH_FOR:
                return known[0]
            if self._running is not None:
                raise Refusal(
                    409, f"Savepoint {self._running} is being checked; only one is checked at a time."
                )
            self._start(name, savepoint)
            return self._known[name][0]

    def last(self, name: str) -> RestoreCheckRun | None:
        """Return the last check of a savepoint, if there was one."""
        with self._lock:
            return self._current(name) if name in self._known else None

    def _current(self, name: str) -> RestoreCheckRun:
        check, since = self._known[name]
        if check.ended_at is None and self._clock() - since > LIMIT:
            # A thread cannot be stopped from outside: no other check starts until it has read its files.
            return replace(
                check,
                ended_at=utc_now(),
                error=f"The check did not finish within {LIMIT:.0f} s; try again later.",
            )
        return check

    def _start(self, name: str, savepoint: Savepoint) -> None:
        self._running = name
        self._known.pop(name, None)
        self._known[name] = RestoreCheckRun(name=name, started_at=utc_now()), self._clock()
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        threading.Thread(target=self._run, args=(name, savepoint), name="restore-check", daemon=True).start()

    def _run(self, name: str, savepoint: Savepoint) -> None:
        result, error = None, None
        try:
            result = self._check(savepoint)
        except Exception as raised:  # a failure is a result too
            error = self._redact(describe_error(raised))
        with self._lock:
            began = self._known[name][0].started_at
            check = RestoreCheckRun(
                name=name, started_at=began, ended_at=utc_now(), result=result, error=error
            )
            self._known[name] = check, self._clock()
            self._running = None
