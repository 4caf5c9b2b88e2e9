"""What was triggered over REST, until its result has been fetched. Bounded: a client that never asks costs little."""

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
"""How long the end of a job that was cancelled waits for whoever cancelled it; commands ask several times a second."""


class Kind(Enum):
    """What can be triggered; Flink keeps the results of each apart."""

    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"
    DISPOSAL = "savepoint disposal"


@dataclass(slots=True)
class _Operation:
    future: Future[Any]
    is_fetched: bool = False


class Operations:
    """The operations of one server; may be used from every thread."""

    def __init__(self) -> None:
        """Nothing was triggered yet."""
        self._changed = threading.Condition()
        self._known: OrderedDict[tuple[Kind, str], _Operation] = OrderedDict()
        self.is_end_awaited = False
        """Whether somebody has cancelled the job and was not told yet how it ended."""

    def begin(self, kind: Kind, trigger_id: str | None, start: Callable[[], Future[Any]]) -> str:
        """Start an operation and return its id; one whose id is known already is not started again."""
        with self._changed:
            chosen = trigger_id or uuid.uuid4().hex
            if (kind, chosen) not in self._known:
                self._make_room()
                future = start()
                self._known[kind, chosen] = _Operation(future)
                future.add_done_callback(self._wake)
            return chosen

    def find(self, kind: Kind, trigger_id: str) -> Future[Any] | None:
        """Return an operation for a client that asks for its result, or None where there is none."""
        with self._changed:
            operation = self._known.get((kind, trigger_id))
            if operation is None:
                return None
            if operation.future.done():
                operation.is_fetched = True
                self._changed.notify_all()
            return operation.future

    def await_end(self) -> None:
        """Somebody has cancelled the job, and will ask how it ended."""
        with self._changed:
            self.is_end_awaited = True

    def tell_end(self) -> None:
        """Somebody was told how the job ended."""
        with self._changed:
            self.is_end_awaited = False
            self._changed.notify_all()

    def wait_until_fetched(self, timeout: float) -> bool:
        """Wait until every result was fetched that somebody may still ask for, and the end told to who cancelled."""
        with self._changed:
            self._changed.wait_for(lambda: not self.is_end_awaited, min(timeout, END_TIMEOUT))
            return self._changed.wait_for(
                lambda: all(operation.is_fetched for operation in self._known.values()), timeout
            )

    def _make_room(self) -> None:
        ended = [key for key, operation in self._known.items() if operation.future.done()]
        for key in ended[: max(len(self._known) - KEPT + 1, 0)]:
            del self._known[key]
        if len(self._known) >= KEPT:
            raise Refusal(503, f"{KEPT} operations are in progress; wait until one of them has ended.")

    def _wake(self, _: Future[Any]) -> None:
        # Called in the thread that completes the future, which may hold nothing of ours.
        with self._changed:
            self._changed.notify_all()
