"""Asks Kafka for the ends of the topics now and then, beside the job, which never waits for the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from milepost.checkpoint.model import Offsets

if TYPE_CHECKING:
    from typing_extensions import Self

_EVERY = 2.0


class EndOffsets:
    """The ends of the topics as they were a moment ago; None while the broker does not answer."""

    def __init__(self, ask: Callable[[], Offsets], every: float = _EVERY, linger: float = _EVERY) -> None:
        """Ask every so many seconds from `__enter__` to `__exit__`, which waits `linger` seconds for an answer."""
        self.latest: Offsets | None = None
        self._ask = ask
        self._every = every
        self._linger = linger
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="end-offsets", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join(timeout=self._linger)

    def _run(self) -> None:
        while True:
            try:
                self.latest = self._ask()
            except Exception:
                # Only a number on the screen is missing; whatever is wrong, the job itself will tell.
                self.latest = None
            if self._stopping.wait(self._every):
                return
