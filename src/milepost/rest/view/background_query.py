"""Runs slow queries on separate threads, one at a time per query; a request never waits for one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from milepost.checkpoint.clock import utc_now
from milepost.errors import MilepostError

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryState(Generic[T]):
    """The current state of a query."""

    result: T | None = None
    at: datetime | None = None
    """When the result was received."""
    error: str | None = None
    """Why the last run failed; the result is then from an earlier run."""
    is_running: bool = False


class BackgroundQuery(Generic[T]):
    """A query that runs again when its result is read and out of date."""

    def __init__(
        self,
        query: Callable[[], T],
        *,
        name: str,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a query without running it; error messages pass through `redact`."""
        self._query = query
        self._name = name
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._state: QueryState[T] = QueryState()
        self._ended_at: float | None = None

    def get(self, max_age: float) -> QueryState[T]:
        """Return the current state, and start the query if its result is older than `max_age` seconds."""
        with self._lock:
            is_stale = self._ended_at is None or self._clock() - self._ended_at >= max_age
            if is_stale and not self._state.is_running:
                self._state = replace(self._state, is_running=True)
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
            return self._state

    def last(self) -> QueryState[T]:
        """Return the current state without starting the query."""
        with self._lock:
            return self._state

    def _run(self) -> None:
        try:
            known: QueryState[T] = QueryState(result=self._query(), at=utc_now())
        except Exception as error:  # of any kind: the next reader may run the query again
            with self._lock:
                known = replace(self._state, error=self._redact(describe_error(error)), is_running=False)
        with self._lock:
            self._state = known
            self._ended_at = self._clock()


def describe_error(error: Exception) -> str:
    """Return an error as a sentence for a page; an unexpected error is named and logged."""
    if isinstance(error, MilepostError | OSError):
        return str(error)
    log.warning("A background query failed", exc_info=error)
    return f"The query failed: {type(error).__name__}."
