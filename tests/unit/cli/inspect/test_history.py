"""`milepost history`: which configuration it takes, and that it serves until it is told to end, without Spark."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import yaml
from tests.unit.config.conftest import changed
from tests.unit.rest.asgi import JOB, START

from milepost.checkpoint.store.history import History, JobEvent
from milepost.checkpoint.store.store import LocalStore
from milepost.cli.argument.checkpoint_place import resolve
from milepost.cli.inspect.history import config_of
from milepost.config import parse_config
from milepost.errors import NotReachableError


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
    with pytest.raises(NotReachableError, match="Name the pipeline's FILE"):
        config_of(resolve(str(folder)))


def test_a_savepoint_has_no_history(tmp_path: Path):
    (tmp_path / "_metadata").touch()
    with pytest.raises(NotReachableError, match="is a savepoint"):
        config_of(resolve(str(tmp_path)))


def test_it_serves_until_it_is_told_to_end_and_needs_no_spark(folder: Path):
    script = (
        "import sys; from milepost.cli.inspect.history import history; "
        f"history({str(folder)!r}, 0, as_json=False); print('pyspark' in sys.modules)"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    kill = threading.Timer(60, process.kill)
    kill.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Job orders, id {JOB}: FINISHED.\n"
        link = re.search(r"History: (http://127\.0\.0\.1:\d+)/\?token=(\S+)", process.stdout.readline())
        assert link
        request = Request(f"{link[1]}/jobs", headers={"Authorization": f"Bearer {link[2]}"})
        with urlopen(request, timeout=10) as answer:
            assert json.load(answer)["jobs"] == [{"id": JOB, "status": "FINISHED"}]
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 0
        assert rest.splitlines()[-1] == "False"
    finally:
        kill.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
