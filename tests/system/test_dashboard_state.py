"""The dashboard before a job with state: what it shows stays while checkpoints come and go."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect
from tests.system.browser import opened
from tests.system.drivers import Driver, printed_address, write_pipeline
from tests.system.lab import Lab, numbered, wait_until

SLOW = '''
"""A participant that takes long enough for somebody to see its checkpoint in flight."""
import time


class Slow:
    name = "slow"

    def snapshot_state(self, context):
        time.sleep(0.2)
        return {"checkpoint": context.checkpoint_id}
'''
WATCH = """() => {
  window.seen = { states: new Set(), acknowledged: [] };
  const look = () => {
    if (document.querySelector(".graph")) window.seen.states.add(document.querySelectorAll(".graph .state").length);
    const said = document.getElementById("acknowledged");
    if (said) window.seen.acknowledged.push(`${said.previousSibling.textContent} ${said.textContent}`);
  };
  const changes = { childList: true, subtree: true, characterData: true };
  new MutationObserver(look).observe(document.querySelector("main"), changes);
  look();
}"""
SEEN = "() => ({ states: [...window.seen.states], acknowledged: window.seen.acknowledged })"
BARS = """() => {
  const canvas = document.querySelector("[data-chart=duration] canvas");
  const chart = globalThis.Chart?.getChart(canvas);
  const bars = chart?.getDatasetMeta(0).data ?? [];
  return bars.map(({ x, width }) => ({ width, left: x - width / 2, right: x + width / 2 }));
}"""
BAR_COUNT = 60
"""As many as a chart has room for."""
KEYS, ROUND = 100, 400
CHECKPOINTS = 14
"""More than RocksDB takes before it writes a snapshot and drops its buffers."""
PATIENCE_MS = 60_000
pytestmark = pytest.mark.timeout(240)


@dataclass
class Stateful:
    """A running job that counts by key, and a page before it."""

    lab: Lab
    topic: str
    page: Page
    address: str
    token: str

    def get(self, path: str) -> Any:
        request = Request(f"{self.address}{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)

    @property
    def job(self) -> str:
        return str(self.get("/jobs/overview")["jobs"][0]["jid"])

    def completed(self) -> list[dict[str, Any]]:
        """The completed checkpoints, newest first."""
        told = self.get(f"/milepost/jobs/{self.job}/checkpoints/history?limit=1000")["checkpoints"]
        return [each for each in told if each["status"] == "COMPLETED"]

    def go(self, place: str) -> None:
        self.page.goto(f"{self.address}/#/{place}")
        expect(self.page.locator("main")).to_have_attribute("data-place", f"#/{place}", timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def stateful(lab: Lab) -> Iterator[Stateful]:
    folder: Path = lab.folder("dashboard-state")
    topic = lab.topic(*numbered(ROUND, partitions=2), partitions=2)
    document = lab.document(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": "id STRING, n INT", "stop": "never"},
        sink={"columns": {"d": ["times"]}, "encoding": "string", "version": "checkpoint"},
        checkpointing={"dir": str(folder / "checkpoint"), "interval": "500ms"},
        sql=f"SELECT CAST(n % {KEYS} AS STRING) AS id, count(*) AS times FROM source GROUP BY n % {KEYS}",
    )
    document |= {
        "rest": {"bind": "127.0.0.1:0"},
        "spark": {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 2}},
        "participants": ["slow:Slow"],
    }
    (folder / "slow.py").write_text(SLOW)
    with Driver(write_pipeline(folder, document)) as driver, opened() as browser:
        wait_until(lambda: "Read-only token: " in driver.output, "the address is printed", 120)
        address, token = printed_address(driver.output)
        page = browser.open(f"{address}/?token={token}")
        yield Stateful(lab, topic, page, address, token)


def test_state_and_acknowledgements_do_not_jump_while_checkpoints_are_taken(stateful: Stateful) -> None:
    wait_until(lambda: bool(stateful.completed()), "the first checkpoint is complete", 60)
    stateful.go("overview")
    expect(stateful.page.locator(".graph .state")).to_have_count(1, timeout=PATIENCE_MS)
    stateful.page.evaluate(WATCH)
    already = len(stateful.completed())
    totals: dict[int, list[int]] = {}

    def looked() -> bool:
        for each in stateful.get(f"/jobs/{stateful.job}/checkpoints")["history"]:
            totals.setdefault(each["trigger_timestamp"], []).append(each["num_subtasks"])
        if len(stateful.completed()) % 3 == 0:
            stateful.lab.produce(stateful.topic, *numbered(ROUND, first=ROUND, partitions=2))
        return len(stateful.completed()) > already + CHECKPOINTS

    wait_until(looked, f"{CHECKPOINTS} checkpoints are complete", 120)
    seen = stateful.page.evaluate(SEEN)
    assert seen["states"] == [1]
    said = [re.fullmatch(r"#(\d+) (\d+) of (\d+) acknowledged", each) for each in seen["acknowledged"]]
    # Two writers, one operator and one participant; before the batch has tasks there is no total.
    assert {found[3] for found in said if found} == {"4"}
    assert all(counts == sorted(counts) for counts in totals.values()), totals
    assert {counts[-1] for counts in totals.values()} <= {1, 4}


def test_the_size_of_the_state_follows_its_rows(stateful: Stateful) -> None:
    sizes = {each["id"]: each["state-bytes"] for each in stateful.completed()}
    assert len(sizes) > CHECKPOINTS
    assert 0 < max(sizes.values()) < 2 * min(sizes.values()), sizes
    stateful.go("overview")
    expect(stateful.page.locator("#number-size")).to_contain_text(re.compile(r"^[\d.]+ KiB"))


def test_every_bar_of_a_chart_is_wide_enough_to_be_seen(stateful: Stateful) -> None:
    series = uneven_series()
    stateful.page.route("**/series?*", lambda route: route.fulfill(json=series))
    stateful.go("metrics")
    wait_until(lambda: len(stateful.page.evaluate(BARS)) == BAR_COUNT, "the bars are drawn", 60)
    bars = stateful.page.evaluate(BARS)
    stateful.page.unroute("**/series?*")
    assert min(bar["width"] for bar in bars) >= 3
    gaps = [after["left"] - before["right"] for before, after in pairwise(bars)]
    assert min(gaps) >= 0, "no bar hides its neighbour"


def uneven_series() -> dict[str, Any]:
    """Checkpoints of one hour: most of them a minute apart, some within seconds."""
    now = time.time_ns() // 1_000_000
    ages = sorted([*range(0, 3600, 72), *range(1000, 1000 + BAR_COUNT - 50)], reverse=True)
    sizes = {"rows": 1, "state-bytes": 1, "written-bytes": 1}
    checkpoints = [
        {"id": number, "at": now - age * 1000, "status": "COMPLETED", "duration-ms": 50 + number % 7 * 20}
        for number, age in enumerate(ages)
    ]
    return {"now": now, "samples": [], "checkpoints": [each | sizes for each in checkpoints]}
