"""The bar of a wait, as a terminal and as a pipe see it."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from milepost.cli.output import progress
from milepost.cli.output.progress import progress_bar, show_time_used


def console(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, encoding: str = "utf-8") -> io.BytesIO:
    written = io.BytesIO()
    file = io.TextIOWrapper(written, encoding=encoding, write_through=True)
    shown = Console(file=file, force_terminal=is_terminal, width=80, color_system=None, _environ={})
    monkeypatch.setattr(progress, "err", shown)
    return written


def wait_for(written: io.BytesIO, words: bytes, patience: float = 20) -> None:
    deadline = time.monotonic() + patience
    while words not in written.getvalue():
        assert time.monotonic() < deadline, f"{words!r} is never written, but {written.getvalue()!r}"
        time.sleep(0.01)


def test_a_terminal_shows_the_title_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    written = console(monkeypatch, is_terminal=True)
    with progress_bar("Copying [1]") as bar:
        assert bar.is_visible
        wait_for(written, b"Copying [1]")
        bar.update(1_500, 3_000, "files")
        wait_for(written, b"1,500/3,000 files")
        bar.set_title("Looking again")
        wait_for(written, b"Looking again")


def test_a_time_limit_is_shown_as_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    monkeypatch.setattr(progress, "TICK", 0.1)
    written = console(monkeypatch, is_terminal=True)
    with progress_bar("Asking HBase") as bar, show_time_used(bar, 60):
        wait_for(written, b"1/60 s")
    assert [each.name for each in threading.enumerate() if each.name == "bar"] == []


def test_a_pipe_sees_nothing_of_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    written = console(monkeypatch, is_terminal=False)
    with progress_bar("Asking HBase") as bar, show_time_used(bar, 60):
        pass
    assert written.getvalue() == b""


def test_a_terminal_without_unicode_gets_a_bar_of_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    written = console(monkeypatch, is_terminal=True, encoding="ascii")
    with progress_bar("Copying") as bar:
        bar.update(1, 2)
        wait_for(written, b"1/2")
    assert b"Copying" in written.getvalue()


def test_what_is_done_within_a_second_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written = console(monkeypatch, is_terminal=True)
    with progress_bar("Copying") as bar:
        bar.update(1, 2)
    assert written.getvalue() == b""


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    written = console(monkeypatch, is_terminal=False)
    with progress_bar("Copying") as bar:
        assert not bar.is_visible
        bar.update(1, 2)
        bar.set_title("Looking again")
    assert written.getvalue() == b""


def test_the_bar_goes_away_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    written = console(monkeypatch, is_terminal=True)
    with pytest.raises(AssertionError, match="never"), progress_bar("Copying"):
        wait_for(written, b"never", patience=0.5)
    assert b"Copying" in written.getvalue()
    # The cursor is shown again, and the line of the bar is erased.
    assert written.getvalue().rstrip().endswith((b"\x1b[?25h", b"\x1b[2K"))
