from __future__ import annotations

import fcntl
from datetime import timedelta
from pathlib import Path

import pytest

from milepost.errors import ServicesError
from milepost.services import Endpoints, Services, Settings, State
from milepost.services.instance import refuse_directory


def test_nothing_is_created_before_up(tmp_path: Path):
    instance = Services(tmp_path / "later")
    assert [each.state for each in instance.status()] == [State.STOPPED, State.STOPPED]
    assert instance.endpoints() == Endpoints(bootstrap_servers="", quorum="")
    assert instance.down() == ()
    assert list(tmp_path.iterdir()) == []


def test_relative_directory_stays_where_it_was_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    instance = Services(Path("here"))
    monkeypatch.chdir("/")
    assert instance.directory == tmp_path / "here"
    assert instance.status()[0].log == tmp_path / "here" / "kafka" / "log" / "kafka.log"


@pytest.mark.parametrize("name", ["a,b", "a:b", "a\nb"])
def test_directory_that_servers_would_misread_is_refused(tmp_path: Path, name: str):
    with pytest.raises(ServicesError, match="separates entries"):
        Services(tmp_path / name).up()
    assert list(tmp_path.iterdir()) == []


def test_space_and_accent_are_fine():
    refuse_directory(Path("/home/José/my data (1)"))


def test_unknown_service_is_named(tmp_path: Path):
    with pytest.raises(ServicesError, match="'redis'"):
        Services(tmp_path).up(only=frozenset({"redis"}))


def test_folder_of_someone_else_is_left_alone(tmp_path: Path):
    (tmp_path / "hbase").mkdir()
    (tmp_path / "hbase" / "pom.xml").touch()
    with pytest.raises(ServicesError, match="not created by"):
        Services(tmp_path).up()


def test_lock_of_another_is_waited_for_then_named(tmp_path: Path):
    said: list[str] = []
    short = Settings(start_timeout=timedelta(milliseconds=100), stop_timeout=timedelta(milliseconds=100))
    with (tmp_path / "lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ServicesError, match="is locked"):
            Services(tmp_path, settings=short, report=said.append).up()
    assert said == [f"waiting for another process that starts or stops services in {tmp_path}"]
