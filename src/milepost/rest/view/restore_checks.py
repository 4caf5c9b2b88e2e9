"""Dry runs of restores: one at a time, each on a thread of its own with a time limit; the last results are kept."""

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
from milepost.rest.view.background_query import sentence

LIMIT = 60.0
FRESH_FOR = 30.0
KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One dry run."""

    name: str
    began_at: datetime
    ended_at: datetime | None = None
    rehearsal: RestoreCheck | None = None
    error: str | None = None
    """Why the savepoint cannot be restored, or could not be looked at."""


class Rehearsals:
    """The dry runs of one server; may be used from several threads."""

    def __init__(
        self,
        check_restore: Callable[[Savepoint], RestoreCheck],
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin none."""
        self._rehearse = check_restore
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Check, float]] = OrderedDict()
        self._running: str | None = None

    def look(self, name: str, savepoint: Savepoint) -> Check:
        """Return the check of a savepoint, and begin one where there is none that is fresh."""
        with self._lock:
            if self._running == name:
                return self._shown(name)
            known = self._known.get(name)
            if known is not None and self._clock() - known[1] < FRESH_FOR:
                return known[0]
            if self._running is not None:
                raise Refusal(
                    409, f"Savepoint {self._running} is being checked; only one is checked at a time."
                )
            self._begin(name, savepoint)
            return self._known[name][0]

    def known(self, name: str) -> Check | None:
        """Return the last check of a savepoint, if there was one."""
        with self._lock:
            return self._shown(name) if name in self._known else None

    def _shown(self, name: str) -> Check:
        check, since = self._known[name]
        if check.ended_at is None and self._clock() - since > LIMIT:
            # A thread cannot be stopped from outside: it keeps its place until its files have been read.
            return replace(
                check, ended_at=utc_now(), error=f"The check has not ended within {LIMIT:.0f} s; look later."
            )
        return check

    def _begin(self, name: str, savepoint: Savepoint) -> None:
        self._running = name
        self._known.pop(name, None)
        self._known[name] = Check(name=name, began_at=utc_now()), self._clock()
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        threading.Thread(target=self._run, args=(name, savepoint), name="restore-check", daemon=True).start()

    def _run(self, name: str, savepoint: Savepoint) -> None:
        rehearsal, error = None, None
        try:
            rehearsal = self._rehearse(savepoint)
        except Exception as raised:  # a refusal is a result too
            error = self._redact(sentence(raised))
        with self._lock:
            began = self._known[name][0].began_at
            check = Check(name=name, began_at=began, ended_at=utc_now(), rehearsal=rehearsal, error=error)
            self._known[name] = check, self._clock()
            self._running = None
