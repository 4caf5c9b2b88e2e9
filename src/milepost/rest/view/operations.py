"""The operations triggered over REST, until their results are fetched. Bounded: unfetched results cost little."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any

from milepost.rest.server.refusal import Refusal

KEPT = 200
END_TIMEOUT = 3.0
"""Seconds that the server of a cancelled job waits for the client that cancelled it to learn the outcome."""


class Kind(Enum):
    """The kinds of operations; Flink keeps their results separate."""

    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"
    DISPOSAL = "savepoint disposal"


@dataclass(slots=True)
class _Operation:
    future: Future[Any]
    is_fetched: bool = False


class Operations:
    """The operations of one server. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._known: OrderedDict[tuple[Kind, str], _Operation] = OrderedDict()
        self.is_end_awaited = False
        """Whether a client has cancelled the job and has not learned yet how it ended."""

    def start(self, kind: Kind, trigger_id: str | None, action: Callable[[], Future[Any]]) -> str:
        """Start an operation and return its id; an operation with a known id is not started again."""
        with self._changed:
            chosen = trigger_id or uuid.uuid4().hex
            if (kind, chosen) not in self._known:
                self._evict_completed()
                future = action()
                self._known[kind, chosen] = _Operation(future)
                future.add_done_callback(self._notify)
            return chosen

    def find(self, kind: Kind, trigger_id: str) -> Future[Any] | None:
        """Return an operation for a client that fetches its result, or None if it is unknown."""
        with self._changed:
            operation = self._known.get((kind, trigger_id))
            if operation is None:
                return None
            if operation.future.done():
                operation.is_fetched = True
                self._changed.notify_all()
            return operation.future

    def mark_end_awaited(self) -> None:
        """Record that a client has cancelled the job and will ask how it ended."""
        with self._changed:
            self.is_end_awaited = True

    def mark_end_reported(self) -> None:
        """Record that a client has learned how the job ended."""
        with self._changed:
            self.is_end_awaited = False
            self._changed.notify_all()

    def wait_until_fetched(self, timeout: float) -> bool:
        """Wait until all results are fetched and the client that cancelled the job has learned the outcome."""
        with self._changed:
            self._changed.wait_for(lambda: not self.is_end_awaited, min(timeout, END_TIMEOUT))
            return self._changed.wait_for(
                lambda: all(operation.is_fetched for operation in self._known.values()), timeout
            )

    def _evict_completed(self) -> None:
        ended = [key for key, operation in self._known.items() if operation.future.done()]
        for key in ended[: max(len(self._known) - KEPT + 1, 0)]:
            del self._known[key]
        if len(self._known) >= KEPT:
            raise Refusal(503, f"{KEPT} operations are in progress; wait until one of them has completed.")

    def _notify(self, _: Future[Any]) -> None:
        # Called by the thread that completes the future, which never holds this lock.
        with self._changed:
            self._changed.notify_all()
