"""Waits for a condition with a deadline, never for a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Only a failure takes so long; two workers and whatever else the machine does share its cores."""


def wait_until(condition: Callable[[], bool], what: str, patience: float = PATIENCE_S) -> None:
    """Return when the condition holds."""
    deadline, pause = time.monotonic() + patience, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        pause.wait(0.05)
