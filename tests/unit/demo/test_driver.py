"""A job is watched through its files and ended through its process group."""

from __future__ import annotations

import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from milepost.checkpoint.store.layout import Layout
from milepost.demo.driver import Driver, JobPosition, read_position
from milepost.errors import JobFailedError

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":5,"1":7}}'


def write(layout: Layout, log: str, batch: int) -> None:
    folder = layout.root / log
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(batch)).write_text(OFFSETS if log == "offsets" else "v1\n{}", encoding="utf-8")


def test_nothing_is_there_before_the_first_checkpoint(tmp_path: Path) -> None:
    assert read_position(Layout(tmp_path)) == JobPosition(None, {}, None)


def test_the_first_checkpoint_is_in_flight_until_it_is_committed(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    write(layout, "offsets", 0)
    assert read_position(layout) == JobPosition(None, {}, 0)
    write(layout, "commits", 0)
    position = read_position(layout)
    assert (position.completed, position.in_flight, position.records) == (0, None, 12)
    write(layout, "offsets", 1)
    assert read_position(layout).in_flight == 1


def fake_python(folder: Path, body: str) -> str:
    """Return an executable that stands for Python and does something else than run a job."""
    script = folder / "python"
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def driver(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> Driver:
    monkeypatch.setattr(sys, "executable", fake_python(folder, body))
    return Driver(folder / "pipeline.yaml", folder / "run.log", Layout(folder))


def is_alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"


def test_a_kill_reaches_the_whole_group(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "child"
    write_pid = f'sleep 60 &\necho $! > "{file}.tmp"\nmv "{file}.tmp" "{file}"'
    job = driver(monkeypatch, tmp_path, f"{write_pid}\nwait")
    job.wait_until(lambda _: file.exists(), "a child", timeout=10)
    child = int(file.read_text(encoding="utf-8"))
    job.kill()
    assert not is_alive(job.pid)
    # Only the leader is ours to wait for; the others of its group die in their own time.
    deadline, pause = time.monotonic() + 10, threading.Event()
    while is_alive(child):
        assert time.monotonic() < deadline
        pause.wait(0.01)


def test_a_job_that_ends_too_early_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = driver(monkeypatch, tmp_path, "echo no table; exit 2")
    with pytest.raises(JobFailedError, match="exit code 2 before anything") as caught:
        job.wait_until(lambda _: False, "anything", timeout=10)
    assert "no table" in caught.value.why


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = driver(monkeypatch, tmp_path, "sleep 60")
    with pytest.raises(JobFailedError, match="did not reach this"):
        job.wait_until(lambda _: False, "anything", timeout=0.1)
    job.kill()


def test_a_clean_stop_gives_the_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ready = f'touch "{tmp_path}/ready"'
    job = driver(monkeypatch, tmp_path, f"trap 'exit 0' INT\n{ready}\nwhile true; do sleep 0.05; done")
    job.wait_until(lambda _: (tmp_path / "ready").exists(), "the trap", timeout=10)
    assert job.stop(timeout=10) == 0


def test_a_job_that_does_not_stop_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = driver(monkeypatch, tmp_path, f"trap '' INT\ntouch \"{tmp_path}/ready\"\nsleep 60")
    job.wait_until(lambda _: (tmp_path / "ready").exists(), "the trap", timeout=10)
    with pytest.raises(JobFailedError, match="did not stop"):
        job.stop(timeout=0.2)
    job.kill()


def test_a_job_that_ends_by_itself_gives_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert driver(monkeypatch, tmp_path, "exit 3").wait(timeout=10) == 3


def test_a_job_that_does_not_end_is_an_error_and_killed_with_its_block(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (
        pytest.raises(JobFailedError, match="did not end"),
        driver(monkeypatch, tmp_path, "sleep 60") as job,
    ):
        job.wait(timeout=0.1)
    assert not is_alive(job.pid)


def test_a_job_sees_what_is_added_to_its_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", fake_python(tmp_path, 'exit "$CODE"'))
    job = Driver(
        tmp_path / "pipeline.yaml", tmp_path / "run.log", Layout(tmp_path), environment={"CODE": "7"}
    )
    assert job.wait(timeout=10) == 7
