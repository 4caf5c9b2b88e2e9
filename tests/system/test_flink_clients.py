"""Flink's own command line and dashboard against a job of ours: list, checkpoint, savepoint, a look, stop, cancel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import expect
from tests.system.browser import opened
from tests.system.drivers import Driver, printed_address, reached_pipeline
from tests.system.flink import CommandLine, dashboard, dashboard_before
from tests.system.lab import Lab, wait_until

from milepost.rest.client import Client

pytestmark = pytest.mark.timeout(300)

PATIENCE_MS = 20_000


class Served(NamedTuple):
    """A running job, and who speaks to it."""

    driver: Driver
    client: Client
    job_id: str
    flink: CommandLine


def served(file: Path, folder: Path) -> Iterator[Served]:
    with Driver(file) as driver:
        wait_until(lambda: "Read-only token: " in driver.output, "the address is printed", 90)
        address, token = printed_address(driver.output)
        client = Client(address=address, token=token)
        yield Served(driver, client, client.job_id(), CommandLine(folder, address, token))


@pytest.fixture(scope="module")
def pipeline(lab: Lab) -> Path:
    return reached_pipeline(lab, lab.folder("flink"))


@pytest.fixture(scope="module")
def job(pipeline: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A job that goes on; the last test of this file stops it, and whatever is left ends here."""
    yield from served(pipeline, tmp_path_factory.mktemp("conf"))


def savepoint_in(output: str) -> Path:
    found = re.search(r"Savepoint completed\. Path: (?:file:(?://)?)?(\S+)", output)
    assert found, output
    return Path(found[1])


def test_list_shows_the_job(job: Served) -> None:
    line = next(line for line in job.flink("list").splitlines() if job.job_id in line)
    assert line.endswith(f"{job.job_id} : reached (RUNNING)")


def test_checkpoint_waits_for_its_number(job: Served) -> None:
    printed = job.flink("checkpoint", job.job_id)
    found = re.search(rf"Checkpoint(?:\(\w+\))? (\d+) for job {job.job_id} completed\.", printed)
    assert found, printed
    newest = job.client.get(f"/jobs/{job.job_id}/checkpoints")["latest"]["completed"]
    assert newest["id"] >= int(found[1])


def test_savepoint_prints_where_it_is(job: Served) -> None:
    savepoint = savepoint_in(job.flink("savepoint", job.job_id))
    assert (savepoint / "_metadata").is_file()
    assert job.client.get(f"/jobs/{job.job_id}/status") == {"status": "RUNNING"}


def test_flinks_dashboard_shows_what_was_taken(job: Served, tmp_path: Path) -> None:
    taken = job.client.get(f"/jobs/{job.job_id}/checkpoints")
    newest, counts = taken["latest"]["completed"]["id"], taken["counts"]
    with dashboard_before(job.client, dashboard(tmp_path)) as passed, opened() as browser:
        page = browser.open(f"{passed.url}#/job/running/{job.job_id}/checkpoints")
        told = page.locator("tr", has_text="Checkpoint Counts").first
        expect(told).to_contain_text(f"Completed: {counts['completed']}", timeout=PATIENCE_MS)
        expect(page.locator("tr", has_text="Latest Completed Checkpoint").first).to_contain_text(
            f"ID: {newest}"
        )
        expect(page.locator("tr", has_text="Sink: Writer").first).to_contain_text("100%", timeout=PATIENCE_MS)
        assert page.locator(".ant-notification-notice").count() == 0
        assert (passed.refused, browser.complaints) == ([], [])


def test_stop_ends_the_job_with_a_savepoint(job: Served) -> None:
    savepoint = savepoint_in(job.flink("stop", job.job_id))
    assert (savepoint / "_metadata").is_file()
    assert job.driver.end() == 0, job.driver.output
    assert "FINISHED" in job.driver.output
    history = (savepoint.parent.parent / "checkpoint" / "milepost" / "history.jsonl").read_text()
    assert '"trigger":"SYNC_SAVEPOINT"' in history


def test_cancel_ends_the_job(pipeline: Path, tmp_path: Path) -> None:
    for job in served(pipeline, tmp_path):
        assert f"Cancelled job {job.job_id}." in job.flink("cancel", job.job_id)
        assert job.driver.end() == 0, job.driver.output
        assert "CANCELED" in job.driver.output
