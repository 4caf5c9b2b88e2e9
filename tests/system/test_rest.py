"""Commands of other processes reach a running job over REST: look, trigger, save, stop; and who does not get in."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.system.drivers import Driver, printed_address, reached_pipeline
from tests.system.lab import Lab, no_trace, wait_until

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def milepost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command beside the driver, in a temp folder of the test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "milepost", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env}
        )

    return run


@pytest.fixture
def driver(lab: Lab, milepost: Command) -> Iterator[Driver]:
    """A job of ten records that goes on, with a savepoint directory; on any free port."""
    with Driver(reached_pipeline(lab, lab.folder("rest"))) as driver:
        wait_until(lambda: "Read-only token: " in driver.output, "the address is printed", 90)
        yield driver


def link(driver: Driver) -> tuple[str, str]:
    """Return address and token of a job whose output goes to a file, where the token is not."""
    assert "?token=" not in driver.output
    return printed_address(driver.output)


def answer(url: str, **headers: str) -> tuple[int, Any]:
    try:
        with urlopen(Request(url, headers=headers), timeout=10) as response:
            return response.status, json.load(response)
    except HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def documents(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(240)
def test_a_running_job_is_reached_from_another_process(
    driver: Driver, milepost: Command, tmp_path: Path
) -> None:
    address, token = link(driver)

    (listed,) = documents(milepost("list", "--json"))["jobs"]
    assert (listed["name"], listed["address"]) == ("reached", address)
    assert "reached" in milepost("list").stdout
    (record,) = tmp_path.glob("milepost-*/*.json")
    (kept,) = tmp_path.glob("milepost-*/*.token")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (record.parent, record, kept)]
    assert modes == [0o700, 0o600, 0o600]
    assert token not in record.read_text()

    triggered = milepost("checkpoint", "trigger", "reached")
    assert triggered.returncode == 0, triggered.stderr
    number = int(re.search(r"Checkpoint (\d+) for job \w+ completed\.", triggered.stdout)[1])  # type: ignore[index]
    # What is shown is what the job's own thread saw last, a few times a second.
    wait_until(
        lambda: documents(milepost("status", listed["id"], "--json"))["rows"] == 10, "the rows are seen", 30
    )
    status = documents(milepost("status", listed["id"], "--json"))
    assert status["state"] == "RUNNING"
    assert status["checkpoint-id"] >= number
    assert sum(sum(each.values()) for each in status["offsets"].values()) == 10

    saved = milepost("savepoint", "create", f"{address}/?token={token}")
    assert saved.returncode == 0, saved.stderr
    savepoint = Path(re.search(r"Savepoint completed\. Path: (?:file:(?://)?)?(\S+)", saved.stdout)[1])  # type: ignore[index]
    assert (savepoint / "_metadata").is_file()

    the_ones_who_do_not_get_in(address, token, milepost)

    stopped = milepost("stop", "reached", "--json")
    assert stopped.returncode == 0, stopped.stderr
    assert json.loads(stopped.stdout)["location"] != str(savepoint)
    assert driver.end() == 0, driver.output
    assert "FINISHED" in driver.output
    assert list(tmp_path.glob("milepost-*/*")) == []
    assert milepost("list").stdout == "No running jobs.\n"
    gone = milepost("status", "reached")
    assert (gone.returncode, no_trace(gone.stderr)) == (3, True)
    audit = savepoint.parent.parent / "checkpoint" / "milepost" / "audit.jsonl"
    changes = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(change["path"].rpartition("/")[2], change["status"]) for change in changes] == [
        ("checkpoints", 202),
        ("savepoints", 202),
        ("savepoints", 400),
        ("stop", 202),
    ]


def the_ones_who_do_not_get_in(address: str, token: str, milepost: Command) -> None:
    bearer = f"Bearer {token}"
    assert answer(f"{address}/jobs")[0] == 401
    assert answer(f"{address}/jobs", Authorization="Bearer wrong")[0] == 401
    assert answer(f"{address}/jobs", Authorization=bearer, Host="evil.example")[0] == 403
    assert answer(f"{address}/jobs", Authorization=bearer, Origin="http://evil.example")[0] == 403
    assert answer(f"{address}/jobs/..%2f..%2fetc/checkpoints", Authorization=bearer)[0] in (400, 404)
    assert answer(f"{address}/v1/jobs", Authorization=bearer)[0] == 200
    wrong = milepost("status", address, MILEPOST_TOKEN="wrong")
    assert (wrong.returncode, "does not accept this token" in wrong.stderr) == (2, True)
    outside = milepost("savepoint", "create", "reached", "--dir", "/etc")
    assert (outside.returncode, "must be inside" in outside.stderr) == (2, True)
    nobody = milepost("cancel", "nobody")
    assert (nobody.returncode, "running jobs are: reached" in nobody.stderr) == (3, True)


@pytest.mark.timeout(240)
def test_a_cancelled_job_ends_and_says_so(driver: Driver, milepost: Command) -> None:
    cancelled = milepost("cancel", "reached")
    assert cancelled.returncode == 0, cancelled.stderr
    assert cancelled.stdout.splitlines()[-1].startswith("Cancelled job ")
    assert driver.end() == 0, driver.output
    assert "CANCELED" in driver.output


@pytest.mark.timeout(240)
def test_a_job_without_a_savepoint_dir_takes_savepoints_where_its_user_says(
    lab: Lab, milepost: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = reached_pipeline(lab, lab.folder("nowhere"))
    file.write_text("\n".join(line for line in file.read_text().splitlines() if "savepoint-dir" not in line))
    (places := tmp_path / "places").mkdir()
    monkeypatch.chdir(places)
    with Driver(file) as driver:
        wait_until(lambda: "Read-only token: " in driver.output, "the address is printed", 90)
        assert "no savepoint-dir: `stop` and `savepoint create` need --savepoint-dir" in driver.output
        address, token = link(driver)

        for command in (["stop", "reached"], ["savepoint", "create", "reached"]):
            refused = milepost(*command)
            assert refused.returncode == 2, refused.stderr
            assert "[execution.checkpointing.savepoint-dir] is not set" in refused.stderr
            assert "Give --savepoint-dir" in refused.stderr
        # A token alone names no directory.
        job_id = answer(f"{address}/jobs", Authorization=f"Bearer {token}")[1]["jobs"][0]["id"]
        body = json.dumps({"target-directory": str(places / "foreign")}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = Request(f"{address}/jobs/{job_id}/savepoints", data=body, headers=headers)
        with pytest.raises(HTTPError) as error:
            urlopen(request, timeout=10)
        with error.value:
            assert "Set checkpointing.savepoint-dir" in error.value.read().decode()

        saved = milepost("savepoint", "create", "reached", "--savepoint-dir", "relative", "--json")
        assert saved.returncode == 0, saved.stderr
        (kept,) = (places / "relative").iterdir()
        assert json.loads(saved.stdout)["location"].endswith(str(kept))
        stopped = milepost("stop", address, "--savepoint-dir", str(places / "stopped"), "--json")
        assert stopped.returncode == 0, stopped.stderr
        assert driver.end() == 0, driver.output
    (last,) = (places / "stopped").iterdir()
    assert (last / "_metadata").is_file()
    assert list(tmp_path.glob("milepost-*/*")) == []
