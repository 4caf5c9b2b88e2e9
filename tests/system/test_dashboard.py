"""The dashboard in a real browser, around one real job: look, act, find who made a checkpoint fail, stop."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.system.browser import Browser, opened
from tests.system.drivers import Driver, printed_address, write_pipeline
from tests.system.lab import Lab, Sent, numbered, wait_until

MARKUP = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
PARTICIPANT = '''
"""A participant that refuses its snapshot while a file lies beside it, with what the file says."""
import pathlib

REFUSES = pathlib.Path(__file__).with_name("refuses")


class Ledger:
    name = "ledger"

    def snapshot_state(self, context):
        self.balance(context.checkpoint_id)
        return {"balanced": context.checkpoint_id}

    def balance(self, checkpoint_id):
        if REFUSES.exists():
            raise ValueError(f"{REFUSES.read_text()} in the books of checkpoint {checkpoint_id}")
'''
CUT_SILENTLY = """() => [...document.querySelectorAll("main .table, main .graph")]
  .filter((part) => part.scrollWidth > part.clientWidth + 1)
  .filter((part) => !part.dataset.more || part.nextElementSibling.getClientRects().length === 0)
  .map((part) => part.ariaLabel)"""
PAGES = [
    "overview",
    "checkpoints/overview",
    "checkpoints/history",
    "checkpoints/summary",
    "checkpoints/configuration",
    "metrics",
    "offsets",
    "savepoints",
    "exceptions",
    "configuration",
]
RATES = """() => {
  const chart = globalThis.Chart.getChart(document.querySelector("[data-chart=throughput] canvas"));
  return chart.data.datasets[0].data.map((point) => point.y ?? 0);
}"""
PATIENCE_MS = 60_000
SHORTEST, TALLEST = 240, 660
"""Of a picture, in pixels."""
FIRST, NEXT = 2000, 1000
HALF = (FIRST + 2 * NEXT) // 2
"""Records in each of the two partitions in the end."""
pytestmark = pytest.mark.timeout(300)


@dataclass
class Desk:
    """One running job, and somebody who looks at it."""

    lab: Lab
    driver: Driver
    browser: Browser
    page: Page
    topic: str
    folder: Path
    link: str
    """The address that `milepost run` printed, with the token."""

    @property
    def address(self) -> str:
        return self.page.url.partition("#")[0]

    def go(self, place: str) -> None:
        """Open a page of the dashboard, and wait until it was drawn."""
        self.page.goto(f"{self.address}#/{place}")
        expect(self.page.locator("main")).to_have_attribute("data-place", f"#/{place}", timeout=PATIENCE_MS)
        expect(self.page.locator("#connection .notice")).to_have_count(0, timeout=PATIENCE_MS)

    def send(self, count: int, first: int) -> None:
        self.lab.produce(self.topic, *numbered(count, first=first, partitions=2))

    def keep(self, name: str) -> None:
        """Keep a picture of the page for the documentation, where one is wanted."""
        if folder := os.environ.get("MILEPOST_SCREENSHOTS"):
            width = self.page.evaluate("innerWidth")
            end = self.page.evaluate("document.querySelector('main').getBoundingClientRect().bottom")
            # Not taller than what is on it: pictures are part of every clone.
            height = max(min(end, TALLEST), SHORTEST)
            self.page.screenshot(
                path=Path(folder) / f"{name}.png",
                animations="disabled",
                clip={"x": 0, "y": 0, "width": width, "height": height},
            )


@pytest.fixture(scope="module")
def desk(lab: Lab) -> Iterator[Desk]:
    """A job of two partitions with a participant, that goes on; a browser at the address that `run` printed."""
    folder = lab.folder("dashboard")
    topic = lab.topic(*numbered(FIRST, partitions=2), partitions=2, prefix="orders")
    document = lab.document(
        topic,
        lab.table("d", prefix="orders"),
        source={
            "format": "json",
            "schema": "id STRING, n INT",
            "stop": "never",
            "bad-records": "skip",
            "group-id": "orders",
        },
        sink={"columns": {"d": ["n"]}, "encoding": "string"},
        checkpointing={
            "dir": str(folder / "checkpoint"),
            "interval": "500ms",
            "tolerable-failures": 1000,
            "savepoint-dir": str(folder / "savepoints"),
        },
        restart={"strategy": "fixed-delay", "attempts": 1000, "delay": "200ms"},
    )
    document |= {
        "name": "orders",
        "rest": {"bind": "127.0.0.1:0"},
        "spark": {"master": "local[2]"},
        "participants": ["ledger:Ledger"],
    }
    (folder / "ledger.py").write_text(PARTICIPANT)
    with Driver(write_pipeline(folder, document)) as driver, opened() as browser:
        wait_until(lambda: "Read-only token: " in driver.output, "the address is printed", 120)
        address, token = printed_address(driver.output)
        link = f"{address}/?token={token}"
        yield Desk(lab, driver, browser, browser.open(link), topic, folder, link)


def rows(page: Page) -> int:
    text = page.locator("#number-rows").evaluate("node => node.firstChild.textContent")
    return int(text.replace(",", ""))


def test_the_numbers_change_while_records_come(desk: Desk) -> None:
    page = desk.page
    assert "token" not in page.url
    expect(page.locator("#header .badge")).to_have_text(re.compile("RUNNING"), timeout=PATIENCE_MS)
    desk.go("overview")
    wait_until(lambda: rows(page) == FIRST, "the first rows are shown")
    desk.send(NEXT, first=FIRST)
    desk.lab.produce(desk.topic, Sent(MARKUP.encode(), b"k", 0))
    wait_until(lambda: rows(page) == FIRST + NEXT, "the next rows are shown")
    expect(page.locator("#number-rejected")).to_contain_text(re.compile("^1"), timeout=PATIENCE_MS)
    expect(page.locator("#number-age")).to_contain_text("#")
    expect(page.locator("#number-size")).to_contain_text(re.compile("^[0-9]+ B"))
    words = page.locator(".graph .transform .detail").all_text_contents()
    assert " ".join(words) == "none, or a Python function"
    desk.keep("overview")


def test_a_savepoint_by_click_is_there_and_its_path_is_shown(desk: Desk) -> None:
    page = desk.page
    desk.go("overview")
    page.get_by_role("button", name="Savepoint").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(str(desk.folder / "savepoints"))
    desk.keep("savepoint")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Savepoint").click()
    dialog.get_by_role("textbox").fill("by-click")
    dialog.get_by_role("button", name="Take savepoint").click()
    done = page.locator(".toast.good")
    expect(done).to_contain_text("Savepoint completed", timeout=PATIENCE_MS)
    path = done.locator("span").inner_text().removeprefix("file://").removeprefix("file:")
    assert path.startswith(str(desk.folder / "savepoints" / "by-click"))
    assert (Path(path) / "_metadata").is_file()
    done.get_by_role("button").click()
    expect(page.locator(".toast")).to_have_count(0)


def test_charts_have_points_and_numbers_that_change(desk: Desk) -> None:
    page = desk.page
    desk.go("metrics")
    for name in ("throughput", "lag", "duration", "size"):
        expect(page.locator(f"[data-chart={name}] canvas")).to_be_visible(timeout=PATIENCE_MS)
    figure = page.locator(".numbers > div").first
    before = figure.inner_text()
    desk.send(NEXT, first=FIRST + NEXT)
    expect(figure).not_to_have_text(before, timeout=PATIENCE_MS)
    expect(figure).to_contain_text(f"{FIRST + 2 * NEXT:,} rows in total", timeout=PATIENCE_MS)


def test_offsets_are_those_of_the_broker(desk: Desk) -> None:
    page = desk.page
    desk.go("offsets")
    table = page.get_by_role("region", name="Offsets per partition")
    # One more was rejected; everything was read.
    for partition, end in ((0, f"{HALF + 1:,}"), (1, f"{HALF:,}")):
        row = table.locator(f"tr[data-key={desk.topic}-{partition}]")
        expect(row.locator("td").nth(4)).to_have_text(end, timeout=PATIENCE_MS)
        expect(row.locator("td").nth(5)).to_have_text(end, timeout=PATIENCE_MS)
        expect(row).to_contain_text("caught up")
    expect(page.locator("main")).to_contain_text("Restorable for at least 7 d", timeout=PATIENCE_MS)
    expect(page.locator(".drift")).to_have_count(0)


def test_a_restore_is_rehearsed_by_click(desk: Desk) -> None:
    page = desk.page
    desk.go("savepoints")
    page.get_by_role("button", name="Check restore").click()
    found = page.locator(".check-result")
    expect(found).to_contain_text("Can be restored", timeout=PATIENCE_MS)
    expect(found).to_contain_text("their checksums match")
    expect(found.get_by_role("region", name="Partitions of the restore")).to_contain_text(desk.topic)


def test_a_checkpoint_by_click_is_in_the_history(desk: Desk) -> None:
    page = desk.page
    desk.go("checkpoints/history")
    page.get_by_role("button", name="Checkpoint", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Take checkpoint").click()
    done = page.locator(".toast.good")
    expect(done).to_contain_text("Checkpoint completed", timeout=PATIENCE_MS)
    number = done.locator("span").inner_text().removeprefix("Checkpoint ")
    done.get_by_role("button").click()
    page.get_by_role("link", name=f"#{number}", exact=True).click()
    table = page.get_by_role("region", name="Participants of this checkpoint")
    expect(table).to_contain_text("ledger", timeout=PATIENCE_MS)
    expect(table).to_contain_text("writer/0")
    expect(page.get_by_role("tab", selected=True)).to_have_text("History")
    desk.keep("checkpoint")


@pytest.mark.parametrize("place", PAGES)
def test_a_page_is_whole_in_every_dress(place: str, desk: Desk) -> None:
    page, name = desk.page, place.replace("/", "-")
    desk.go(place)
    desk.keep(name)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    page.set_viewport_size({"width": 390, "height": 800})
    try:
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0
        wait_until(lambda: page.evaluate(CUT_SILENTLY) == [], "what is cut has its hint", 10)
        if place == "overview":
            desk.keep("narrow")
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")


def test_the_choice_of_colours_is_remembered(desk: Desk) -> None:
    page = desk.page
    desk.go("overview")
    page.get_by_role("button", name="Switch to dark theme").click()
    page.reload()
    expect(page.locator("main")).to_have_attribute("data-place", "#/overview", timeout=PATIENCE_MS)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    desk.keep("overview-dark")
    page.get_by_role("button", name="Switch to light theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_from_the_overview_two_clicks_lead_to_who_declined(desk: Desk) -> None:
    page = desk.page
    desk.go("overview")
    refuses = desk.folder / "refuses"
    refuses.write_text("debit and credit differ by 0.50,\nas the auditors have noted")
    try:
        notice = page.locator("#failed-checkpoint")
        expect(notice).to_contain_text("ledger declined it", timeout=PATIENCE_MS)
        desk.keep("overview-failed")
        notice.click()
        cause = page.locator(".failure-cause").first
        expect(cause).to_contain_text("Participant ledger declined", timeout=PATIENCE_MS)
        expect(cause.locator("pre")).to_contain_text("in balance")
        expect(cause).to_contain_text("debit and credit differ by 0.50")
        desk.keep("checkpoint-failed")
        desk.go("exceptions")
        reason = page.locator(".exception").first.locator("p.lines").first
        expect(reason).to_contain_text("debit and credit differ by 0.50,", timeout=PATIENCE_MS)
        expect(reason).to_contain_text("as the auditors have noted in the books")
        desk.keep("exceptions")
        refuses.write_text(MARKUP)
        expect(page.locator(".exception").first).to_contain_text(MARKUP, timeout=PATIENCE_MS)
        assert page.locator("main script, main img").count() == 0
        desk.go("checkpoints/history")
        page.get_by_role("row", name="FAILED").get_by_role("link", name="ledger").first.click()
        expect(page.locator(".failure-cause").first).to_contain_text(MARKUP, timeout=PATIENCE_MS)
    finally:
        refuses.unlink()
    assert page.locator("main script, main img").count() == 0
    assert "owned" not in page.title()
    desk.go("overview")
    expect(page.locator("#failed-checkpoint")).to_contain_text("has completed since", timeout=PATIENCE_MS)


def test_every_time_has_its_zone(desk: Desk) -> None:
    page = desk.page
    emulation = page.context.new_cdp_session(page)
    emulation.send("Emulation.setTimezoneOverride", {"timezoneId": "America/Phoenix"})
    try:
        desk.go("checkpoints/overview")
        page.reload()
        expect(page.locator("#nav .zone")).to_have_text(
            re.compile(r"^Times in America/Phoenix \(UTC\W07:00\)$"), timeout=PATIENCE_MS
        )
        moment = page.locator("main time").first
        expect(moment).to_have_attribute(
            "title", re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$"), timeout=PATIENCE_MS
        )
        utc = datetime.fromisoformat((moment.get_attribute("title") or "").replace("Z", "+00:00"))
        there = utc + timedelta(hours=-7)
        assert moment.inner_text() == f"{there:%Y-%m-%d %H:%M:%S}"
    finally:
        emulation.send("Emulation.setTimezoneOverride", {"timezoneId": ""})
        emulation.detach()


def test_no_page_has_complained(desk: Desk) -> None:
    assert desk.browser.complaints == []


def test_tabs_go_by_arrow_keys(desk: Desk) -> None:
    desk.go("checkpoints/overview")
    desk.page.get_by_role("tab", name="Overview").focus()
    desk.page.keyboard.press("ArrowRight")
    expect(desk.page.get_by_role("tab", selected=True)).to_have_text("History")
    expect(desk.page.get_by_role("tab", name="History")).to_be_focused()
    expect(desk.page.get_by_role("region", name="History of checkpoints")).to_be_visible(timeout=PATIENCE_MS)


def test_a_lost_connection_and_a_lost_token_are_told(desk: Desk) -> None:
    page, said = desk.page, desk.page.locator("#connection")
    desk.go("overview")
    page.route("**/jobs/overview", lambda route: route.abort())
    expect(said).to_contain_text("Connection lost, retrying", timeout=PATIENCE_MS)
    page.unroute("**/jobs/overview")
    expect(said.locator(".notice")).to_have_count(0, timeout=PATIENCE_MS)
    page.context.clear_cookies()
    expect(said).to_contain_text("401: open the address with the token", timeout=PATIENCE_MS)
    page.goto(desk.link)
    expect(said.locator(".notice")).to_have_count(0, timeout=PATIENCE_MS)


@contextmanager
def history_of(folder: Path) -> Iterator[str]:
    """Serve a directory by `milepost history`, and yield the link to it."""
    command = [sys.executable, "-m", "milepost", "history", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            _, address, token = (process.stdout.readline().strip() for _ in range(3))
            url, file = address.removeprefix("History: "), token.removeprefix("Token: in ")
            yield f"{url}/?token={Path(file).read_text()}"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def copy_if_there(source: str, target: str) -> None:
    """Copy a file of a running job, unless it was a temporary one that has its name by now."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)


def test_a_directory_is_shown_beside_its_running_job(desk: Desk) -> None:
    with history_of(desk.folder / "checkpoint") as link:
        page = desk.browser.open(link)
        expect(page.locator("#header .badge")).to_have_text(re.compile("RUNNING"), timeout=PATIENCE_MS)
        expect(page.get_by_role("button", name="Stop")).to_have_attribute("aria-disabled", "true")
        page.close()
    # As a driver leaves it that is killed now.
    shutil.copytree(desk.folder / "checkpoint", desk.folder / "killed", copy_function=copy_if_there)
    desk.go("overview")


def test_a_stop_by_click_finishes_the_job(desk: Desk) -> None:
    page = desk.page
    desk.go("overview")
    expect(page.locator("#header .badge")).to_have_text(re.compile("RUNNING"), timeout=PATIENCE_MS)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop with savepoint").click()
    expect(page.locator(".toast.good")).to_contain_text("finished with a savepoint", timeout=PATIENCE_MS)
    expect(page.locator("#header .badge")).to_have_text(re.compile("FINISHED"), timeout=PATIENCE_MS)
    assert desk.driver.end() == 0, desk.driver.output
    expect(page.locator("#connection")).to_contain_text("The job has ended: FINISHED", timeout=PATIENCE_MS)
    assert page.get_by_role("button", name="Cancel").get_attribute("aria-disabled") == "true"


def test_what_a_killed_job_has_left_is_shown_and_cannot_be_changed(desk: Desk) -> None:
    with history_of(desk.folder / "killed") as link:
        desk.page.close()  # it complains that its job is gone
        heard = len(desk.browser.complaints)
        desk.page = page = desk.browser.open(link)
        expect(page.locator("#header .badge")).to_have_text(re.compile("SUSPENDED"), timeout=PATIENCE_MS)
        for action in ("Checkpoint", "Savepoint", "Stop", "Cancel"):
            button = page.locator("#header").get_by_role("button", name=action, exact=True)
            expect(button).to_have_attribute("aria-disabled", "true")
        desk.go("exceptions")
        expect(page.locator(".exception").first).to_contain_text(
            "The driver ended without reporting a status"
        )
        expect(page.locator("main")).to_contain_text("ledger", timeout=PATIENCE_MS)
        desk.keep("history")
        desk.go("checkpoints/history")
        table = page.get_by_role("region", name="History of checkpoints")
        expect(table.locator("tbody tr").nth(1)).to_be_visible(timeout=PATIENCE_MS)
        desk.go("overview")
        expect(page.locator("#number-rate")).to_have_text(re.compile(r"^[1-9][\d,]*/son average$"))
        desk.go("metrics")
        expect(page.locator("[data-chart=duration] canvas")).to_be_visible(timeout=PATIENCE_MS)
        rates = page.evaluate(RATES)
        assert max(rates) > 0, rates
        assert desk.browser.complaints[heard:] == []
