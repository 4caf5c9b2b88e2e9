"""Queries Kafka for the end offsets of the topics periodically, in the background."""

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
    """The most recent end offsets; None while the broker does not respond."""

    def __init__(self, ask: Callable[[], Offsets], every: float = _EVERY, linger: float = _EVERY) -> None:
        """Query every `every` seconds inside a `with` block, whose exit waits at most `linger` seconds for a query."""
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
                # Only the displayed lag is missing; the job reports the cause itself.
                self.latest = None
            if self._stopping.wait(self._every):
                return
