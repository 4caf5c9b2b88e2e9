"""The registry of running jobs: private, true only as long as the driver lives."""

from __future__ import annotations

import getpass
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from milepost.errors import NotReachableError
from milepost.job import process_identity
from milepost.job.registry import (
    Entry,
    entries,
    find,
    folder,
    grant_directory,
    grants,
    register,
    store_tokens,
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def entry(job_id: str = "a" * 32, name: str = "orders", pid: int | None = None) -> Entry:
    return Entry(
        job_id=job_id,
        name=name,
        directory="/data/orders",
        address="http://127.0.0.1:8081",
        token_file="/x.token",
        pid=os.getpid() if pid is None else pid,
    )


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_job_is_found_as_long_as_it_runs():
    with register(entry()):
        assert entries() == [entry()]
        assert find("orders") == find("a" * 32) == entry()
        assert find("other") is None
    assert entries() == []


def test_nobody_else_can_read_it():
    with register(entry()), store_tokens("a" * 32, "secret", "other") as (token, reading):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder(), *folder().iterdir())]
        assert modes == [0o700, 0o600, 0o600, 0o600]
        assert (token.read_text(), reading.read_text()) == ("secret", "other")
    assert list(folder().iterdir()) == []


def test_the_user_of_a_job_grants_directories_for_its_savepoints():
    with register(entry()), grant_directory("a" * 32, "/data/one"), grant_directory("a" * 32, "/data/two"):
        assert grants("a" * 32) == {"/data/one", "/data/two"}
        assert grants("b" * 32) == frozenset()
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder().iterdir()} == {0o600}
    assert list(folder().iterdir()) == []


def test_a_grant_ends_with_its_job():
    with register(entry()):
        left = grant_directory("a" * 32, "/data/one")
        left.__enter__()  # the command is killed
    assert grants("a" * 32) == frozenset()
    assert list(folder().iterdir()) == []


def test_grants_that_others_could_have_written_count_for_nothing():
    with grant_directory("a" * 32, "/data/one"):
        folder().chmod(0o777)
        with pytest.raises(NotReachableError, match="cannot be trusted"):
            grants("a" * 32)
        (Path(tempfile.gettempdir()) / f"milepost-{getpass.getuser()}").chmod(0o700)


def test_what_a_killed_driver_left_is_swept():
    dead = replace(entry(), pid=dead_pid())
    with register(dead), store_tokens(dead.job_id, "secret", "other"):
        assert entries() == []
        assert list(folder().iterdir()) == []


def test_another_program_with_the_pid_of_a_killed_driver_is_not_the_job():
    ours = replace(entry(), born=process_identity.start_token(os.getpid()) or "")
    with register(ours):
        assert entries() == [ours]
    with register(replace(ours, born="another birth")):
        assert entries() == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"job_id": "x"}', "\xff"])
def test_what_is_no_record_is_swept(text: str):
    (folder() / "x.json").write_text(text)
    assert entries() == []
    assert list(folder().iterdir()) == []


def test_a_name_that_means_several_is_refused():
    with register(entry("a" * 32)), register(entry("b" * 32)):
        with pytest.raises(NotReachableError, match="2 running jobs are named 'orders'"):
            find("orders")
        assert find("b" * 32) == entry("b" * 32)


def test_a_folder_that_others_may_enter_is_refused():
    folder().chmod(0o755)
    with pytest.raises(NotReachableError, match="cannot be trusted"):
        entries()


def test_a_link_in_its_place_is_refused(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / folder().name).rmdir()
    (tmp_path / f"milepost-{getpass.getuser()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotReachableError, match="cannot be trusted"):
        entries()


def test_the_folder_is_there_only_while_jobs_run(tmp_path: Path):
    assert entries() == []
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"
    killed = replace(entry(job_id="b" * 32), pid=dead_pid())
    with store_tokens("a" * 32, "secret", "other"), register(entry()):
        with store_tokens(killed.job_id, "secret", "other"), register(killed):
            left = {path: path.read_bytes() for path in folder().iterdir() if killed.job_id in path.name}
        for path, content in left.items():
            path.write_bytes(content)
    assert list(tmp_path.iterdir()) == []
