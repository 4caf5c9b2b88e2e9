"""A progress bar on stderr, shown on a terminal only and after the first second."""

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
    """A progress bar; without a total it only moves."""

    def __init__(self, progress: Progress | None = None, title: str = "") -> None:
        """Create the bar; without `progress` it shows nothing."""
        self._progress = progress
        self._task = None if progress is None else progress.add_task(title, total=None, counted="")

    @property
    def is_visible(self) -> bool:
        """Whether it can be shown; otherwise its values need not be computed."""
        return self._progress is not None

    def update(self, done: int, total: int, unit: str = "") -> None:
        """Show how much is done."""
        if self._progress is not None and self._task is not None and total > 0:
            counted = f"{done:,}/{total:,} {unit}".rstrip()
            self._progress.update(self._task, completed=done, total=total, counted=counted)

    def print_line(self, line: str) -> None:
        """Print a permanent line above the bar."""
        err.print(line, markup=False, style="dim")

    def set_title(self, title: str) -> None:
        """Show the title of the next step, without a count."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=title, completed=0, total=None, counted="")


@contextmanager
def show_time_used(bar: Bar, limit: float) -> Iterator[None]:
    """Show on a bar how much of a time limit is used while the block runs."""
    ended = threading.Event()

    def tick() -> None:
        began = time.monotonic()
        while not ended.wait(TICK):
            used = min(time.monotonic() - began, limit)
            bar.update(int(used), int(limit), "s")

    ticking = threading.Thread(target=tick, name="bar", daemon=True)
    if bar.is_visible:
        ticking.start()
    try:
        yield
    finally:
        ended.set()
        if ticking.is_alive():
            ticking.join()


@contextmanager
def progress_bar(title: str) -> Iterator[Bar]:
    """Show a bar while the block runs, after the first second, and remove it at the end."""
    if not err.is_terminal or err.is_dumb_terminal:
        yield Bar()
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )  # slow to import, and not needed in a pipe

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
