"""A question to somebody who may be slow: asked on a thread of its own, one at a time; a request never waits for it."""

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
class Answer(Generic[T]):
    """What is known now."""

    result: T | None = None
    at: datetime | None = None
    """When the result came."""
    error: str | None = None
    """Why the newest question was not answered; the result is then an older one."""
    is_asking: bool = False


class Asking(Generic[T]):
    """One question, asked again when somebody looks and the last answer is old."""

    def __init__(
        self,
        question: Callable[[], T],
        *,
        name: str,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nothing yet; what goes wrong is told through `redact`."""
        self._question = question
        self._name = name
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._answer: Answer[T] = Answer()
        self._ended_at: float | None = None

    def look(self, fresh_for: float) -> Answer[T]:
        """Return what is known, and ask again where that is older than so many seconds."""
        with self._lock:
            is_old = self._ended_at is None or self._clock() - self._ended_at >= fresh_for
            if is_old and not self._answer.is_asking:
                self._answer = replace(self._answer, is_asking=True)
                threading.Thread(target=self._ask, name=self._name, daemon=True).start()
            return self._answer

    def known(self) -> Answer[T]:
        """Return what is known, and ask nobody."""
        with self._lock:
            return self._answer

    def _ask(self) -> None:
        try:
            known: Answer[T] = Answer(result=self._question(), at=utc_now())
        except Exception as error:  # whatever it is, the next one may ask again
            with self._lock:
                known = replace(self._answer, error=self._redact(sentence(error)), is_asking=False)
        with self._lock:
            self._answer = known
            self._ended_at = self._clock()


def sentence(error: Exception) -> str:
    """Return what went wrong, for a page; what is not ours is named and written to the log."""
    if isinstance(error, MilepostError | OSError):
        return str(error)
    log.warning("A question was not answered", exc_info=error)
    return f"It could not be found out: {type(error).__name__}."
