"""A bar for a person who waits: on stderr, on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from milepost.cli.output.console import err

if TYPE_CHECKING:
    from rich.progress import Progress

SHOW_AFTER = 1.0
TICK = 1.0
_WIDTH = 24


class Bar:
    """What a wait says of itself; without a total it moves, and promises nothing."""

    def __init__(self, progress: Progress | None = None, title: str = "") -> None:
        """Stay silent where there is nobody to look."""
        self._progress = progress
        self._task = None if progress is None else progress.add_task(title, total=None, counted="")

    @property
    def is_watched(self) -> bool:
        """Whether anybody can see it: what is asked only for the bar need not be asked otherwise."""
        return self._progress is not None

    def at(self, done: int, total: int, unit: str = "") -> None:
        """Show how much of it is done."""
        if self._progress is not None and self._task is not None and total > 0:
            counted = f"{done:,}/{total:,} {unit}".rstrip()
            self._progress.update(self._task, completed=done, total=total, counted=counted)

    def tell(self, line: str) -> None:
        """Print a line that stays, above the bar."""
        err.print(line, markup=False, style="dim")

    def say(self, title: str) -> None:
        """Name another step, of which nothing is known yet."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=title, completed=0, total=None, counted="")


@contextmanager
def timed(bar: Bar, limit: float) -> Iterator[None]:
    """Let a bar show how much of a time limit is used while the block lasts."""
    ended = threading.Event()

    def tick() -> None:
        began = time.monotonic()
        while not ended.wait(TICK):
            used = min(time.monotonic() - began, limit)
            bar.at(int(used), int(limit), "s")

    ticking = threading.Thread(target=tick, name="bar", daemon=True)
    if bar.is_watched:
        ticking.start()
    try:
        yield
    finally:
        ended.set()
        if ticking.is_alive():
            ticking.join()


@contextmanager
def working(title: str) -> Iterator[Bar]:
    """Show a bar while the block lasts, once that is longer than a second; leave nothing of it behind."""
    if not err.is_terminal or err.is_dumb_terminal:
        yield Bar()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # slow, and not for a pipe

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_WIDTH),
        TextColumn("{task.fields[counted]}", markup=False),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )
    appearing = threading.Timer(SHOW_AFTER, progress.start)
    appearing.daemon = True
    appearing.start()
    try:
        yield Bar(progress, title)
    finally:
        appearing.cancel()
        appearing.join()
        progress.stop()
