from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from milepost.job.spark import scratch


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_the_user_can_read_it():
    assert scratch.create().stat().st_mode & 0o777 == 0o700


def test_what_a_killed_driver_left_is_swept(temporary: Path):
    left = temporary / f"milepost-driver-{dead_pid()}-abc"
    (left / "blockmgr").mkdir(parents=True)
    mine = scratch.create()
    assert scratch.sweep() == [left]
    assert not left.exists()
    assert mine.exists()


def test_a_process_clears_its_own():
    mine = scratch.create()
    scratch.clear()
    assert not mine.exists()


def test_what_is_not_a_drivers_folder_stays(temporary: Path):
    target = temporary / "target"
    target.mkdir()
    others = [temporary / "milepost-driver-x-abc", temporary / f"milepost-{dead_pid()}-abc"]
    for other in others:
        other.mkdir()
    link = temporary / f"milepost-driver-{dead_pid()}-lnk"
    link.symlink_to(target)
    assert scratch.sweep() == []
    assert all(path.exists() for path in (*others, link, target))


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch, temporary: Path):
    def forbidden(_pid: int, _signal: int) -> None:
        raise PermissionError

    folder = temporary / "milepost-driver-4711-abc"
    folder.mkdir()
    monkeypatch.setattr(os, "kill", forbidden)
    assert scratch.sweep() == []
