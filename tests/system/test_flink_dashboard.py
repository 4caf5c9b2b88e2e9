"""Flink's own dashboard before a job of ours: its pages show the job's numbers, and nothing they ask is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.system.browser import Browser, opened
from tests.system.flink import Passed, dashboard, dashboard_before
from tests.unit.rest.asgi import JOB, Server, ack, completed, failed

from milepost.config import Rest
from milepost.rest.client import Client
from milepost.rest.server.server import Listener, serve_job

PATIENCE_MS = 20_000


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Passed]:
    """The dashboard before the real server, around a job that has taken five checkpoints and lost one."""
    (tmp_path / "job").mkdir()
    server = Server(tmp_path / "job")
    for number in range(5):
        acks = (ack("writer/0", rows=10), ack("writer/1"), ack("state/0", bytes=4096), ack("audit", bytes=20))
        server.job.checkpoints.stats.add(completed(number, *acks))
    server.job.checkpoints.stats.add(failed(5, ack("writer/0", -4)))
    with (
        Listener.open(Rest(bind="127.0.0.1:0")) as listener,
        serve_job(listener, server.job, server.config) as address,
        dashboard_before(Client(address=address.url, token=address.token), dashboard(tmp_path)) as passed,
    ):
        yield passed


@pytest.fixture
def browser() -> Iterator[Browser]:
    with opened() as browser:
        yield browser


@pytest.mark.timeout(180)
def test_the_pages_of_a_job(shown: Passed, browser: Browser, tmp_path: Path) -> None:
    page = browser.open(shown.url)
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    expect(page.get_by_text("orders").first).to_be_visible()

    page.goto(f"{shown.url}#/job/running/{JOB}/checkpoints")
    expect(page.locator("tr", has_text="Checkpoint Counts").first).to_contain_text(
        re.compile(r"Triggered: 6.*Completed: 5.*Failed: 1", re.S)
    )
    expect(page.locator("tr", has_text="Latest Completed Checkpoint").first).to_contain_text("ID: 4")
    lost = page.locator("tr", has_text="Latest Failed Checkpoint").first
    expect(lost).to_contain_text(re.compile(r"ID: 5.*Cause:\s+A participant declined it\.", re.S))
    # Both have a table of operators: every vertex of the job with who has acknowledged.
    expect(page.locator("tr", has_text="Sink: Writer").filter(has_text="2/2")).not_to_have_count(0)
    expect(page.locator("tr", has_text="audit").filter(has_text="0/1")).not_to_have_count(0)
    page.screenshot(path=tmp_path / "checkpoints.png")

    page.get_by_role("tab", name="History").click()
    for number in range(6):
        expect(page.get_by_role("cell", name=str(number), exact=True).first).to_be_visible()

    for path in ("overview", "exceptions", "timeline", "configuration"):
        page.goto(f"{shown.url}#/job/running/{JOB}/{path}")
        page.wait_for_load_state("networkidle")
    for path in ("task-manager", "job-manager/config"):
        page.goto(f"{shown.url}#/{path}")
        page.wait_for_load_state("networkidle")
    assert page.locator(".ant-notification-notice").count() == 0
    assert shown.refused == []
    assert browser.complaints == []
