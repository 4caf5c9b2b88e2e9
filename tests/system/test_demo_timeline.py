"""The time line demo as a user runs it: what it prints is judged here once more, from the lines alone."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

import pytest

from milepost.services import Services

SECONDS = 1
MOMENT = re.compile(r"\s+(?P<at>\d+\.\d{3}) s  (?P<lane>\S+) +(?P<what>[a-z ]+)")


class Line(NamedTuple):
    at: float
    lane: str
    what: str


class TimeLine:
    """The lines under one heading."""

    def __init__(self, output: str, heading: str) -> None:
        text = re.split(r"^\d\. ", output.split(heading, 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
        found = [MOMENT.fullmatch(line) for line in text.splitlines()]
        self.lines = [Line(float(m["at"]), m["lane"], m["what"]) for m in found if m]

    def times(self, what: str) -> list[float]:
        return [line.at for line in self.lines if line.what == what]

    def at(self, lane: str, what: str) -> float:
        (time,) = [line.at for line in self.lines if (line.lane, line.what) == (lane, what)]
        return time

    @property
    def phase(self) -> float:
        # In the milliseconds that are printed: the difference of two such numbers is a little off in binary.
        return round(max(self.times("snapshot end")) - min(self.times("snapshot begin")), 3)


@pytest.fixture(scope="module")
def output(running_services: Services) -> str:
    directory = str(running_services.directory)
    command = [sys.executable, "-m", "milepost", "demo", "timeline", "--seconds", str(SECONDS)]
    result = subprocess.run(
        [*command, "--services", directory], capture_output=True, text=True, check=False, timeout=400
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.timeout(420)
def test_chained_takes_twice_as_long_as_keyed(output: str) -> None:
    chained, keyed = TimeLine(output, "chained:"), TimeLine(output, "keyed:")
    assert 1.6 <= chained.phase / keyed.phase <= 2.4
    assert keyed.phase >= SECONDS
    assert chained.at("b", "snapshot begin") >= chained.at("a", "snapshot end")
    assert max(keyed.times("snapshot begin")) < min(keyed.times("snapshot end"))
    assert "separate chains" in output


@pytest.mark.timeout(420)
@pytest.mark.parametrize("heading", ["chained:", "keyed:"])
def test_everything_of_a_checkpoint_comes_in_its_order(output: str, heading: str) -> None:
    line = TimeLine(output, heading)
    assert line.lines == sorted(line.lines, key=lambda each: each.at)
    assert len(line.times("send")) == len(line.times("receive")) == 3
    assert max(line.times("send")) <= min(line.times("trigger")) <= min(line.times("receive"))
    assert max(line.times("receive")) <= min(line.times("acknowledge"))
    assert max(line.times("acknowledge")) <= min(line.times("snapshot begin"))
    (complete,) = line.times("complete")
    assert len(line.times("notify")) == 2
    assert max(line.times("snapshot end")) <= complete <= min(line.times("notify"))
