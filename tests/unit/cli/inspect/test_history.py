"""`milepost history`: which configuration it uses, and that it serves until it is interrupted, without Spark."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import Request, urlopen

import pytest
import yaml
from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB, START

from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.cli.argument.checkpoint_place import resolve
from milepost.cli.inspect.history import address_lines, config_of
from milepost.config import parse_config
from milepost.errors import NotReachableError
from milepost.rest.server.server import Address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The directory of a job that has ended, moved since."""
    config = parse_config(
        changed({"checkpointing/dir": "/elsewhere", "rest": {"bind": "127.0.0.1:0", "token": "t" * 32}})
    )
    history = History(LocalStore(tmp_path / "moved"))
    history.append(JobEvent(at=START, job_id=JOB, status="RUNNING"))
    history.append(JobEvent(at=START, job_id=JOB, status="FINISHED"))
    history.store_plan({"summary": []}, config.redacted())
    return tmp_path / "moved"


def test_a_directory_keeps_the_settings_of_its_job_and_no_secret(folder: Path):
    config = config_of(resolve(str(folder)))
    assert (config.name, config.checkpointing.dir, config.rest) == ("orders", str(folder), None)
    assert "t" * 32 not in (folder / "milepost" / "plan.json").read_text()


def test_a_directory_may_be_named_from_where_one_is(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder.parent)
    assert config_of(resolve(folder.name)).checkpointing.dir == str(folder)


def test_settings_that_cannot_be_read_are_named_with_their_fault(folder: Path):
    settings = changed({"checkpointing/dir": str(folder), "checkpointing/interval": "often"})
    History(LocalStore(folder)).store_plan({}, settings)
    with pytest.raises(NotReachableError, match=r"checkpointing\.interval"):
        config_of(resolve(str(folder)))


def test_a_file_is_taken_as_it_is(folder: Path, tmp_path: Path):
    file = tmp_path / "orders.yaml"
    file.write_text(yaml.safe_dump(changed({"checkpointing/dir": str(folder), "name": "named"})))
    assert config_of(resolve(str(file))).name == "named"


@pytest.mark.parametrize("settings", [{}, {"name": "orders"}])
def test_a_directory_without_settings_asks_for_the_file(folder: Path, settings: dict[str, str]):
    History(LocalStore(folder)).store_plan({}, settings)
    with pytest.raises(NotReachableError, match="Give the pipeline's FILE"):
        config_of(resolve(str(folder)))


def test_a_savepoint_has_no_history(tmp_path: Path):
    (tmp_path / "_metadata").touch()
    with pytest.raises(NotReachableError, match="is a savepoint"):
        config_of(resolve(str(tmp_path)))


@contextmanager
def serving(folder: Path, *, as_json: bool) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Run the command with its output in a pipe; its last line says whether Spark was imported."""
    script = (
        "import sys; from milepost.cli.inspect.history import history; "
        f"history({str(folder)!r}, 0, as_json={as_json}); print('pyspark' in sys.modules)"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    kill = threading.Timer(60, process.kill)
    kill.start()
    try:
        assert process.stdout is not None
        yield process, process.stdout
    finally:
        kill.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def statuses(url: str, token: str) -> list[dict[str, str]]:
    request = Request(f"{url}/jobs", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=10) as answer:
        jobs: list[dict[str, str]] = json.load(answer)["jobs"]
        return jobs


def test_it_serves_until_it_is_interrupted_and_needs_no_spark(folder: Path):
    with serving(folder, as_json=False) as (process, output):
        assert output.readline() == f"Job orders, id {JOB}: FINISHED.\n"
        url = output.readline().strip().removeprefix("History: ")
        file = Path(output.readline().strip().removeprefix("Token: in "))
        token = file.read_text()
        assert statuses(url, token) == [{"id": JOB, "status": "FINISHED"}]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        process.send_signal(signal.SIGINT)
        rest = output.read()
        assert process.wait(30) == 0
    assert rest.splitlines()[-1] == "False"
    assert token not in url + rest
    assert not file.exists()


def test_a_program_gets_the_file_of_the_token(folder: Path):
    with serving(folder, as_json=True) as (process, output):
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(output.readline())
        document = json.loads("".join(lines))
        assert list(document) == ["job-id", "state", "address", "token-file"]
        token = Path(document["token-file"]).read_text()
        assert statuses(document["address"], token) == [{"id": JOB, "status": "FINISHED"}]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_terminal_gets_the_link_with_the_token():
    address = Address(url="http://127.0.0.1:8081", token="the-token", read_token="")
    assert address_lines(address, None) == ["History: http://127.0.0.1:8081/?token=the-token"]
