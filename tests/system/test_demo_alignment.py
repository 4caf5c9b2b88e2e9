"""The alignment demo as a user runs it: a cut over two sources, and what a crash leaves in the table in each mode."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from milepost.services import Services

PAIR = r"\((\d+), (\d+)\)"
CUT = re.compile(rf"\s+(\d+)\s+{PAIR}\s+{PAIR}\s+equal\s+(.+)")


@pytest.fixture(scope="module")
def output(running_services: Services) -> str:
    command = [sys.executable, "-m", "milepost", "demo", "alignment", "--services"]
    result = subprocess.run(
        [*command, str(running_services.directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.timeout(820)
def test_counts_are_the_offsets_at_every_checkpoint_before_and_after_the_crash(output: str) -> None:
    stands: dict[str, list[tuple[int, int]]] = {}
    for line in output.splitlines():
        if match := CUT.fullmatch(line):
            _, one, two, counted_one, counted_two, when = match.groups()
            assert (one, two) == (counted_one, counted_two)
            stands.setdefault(when, []).append((int(one), int(two)))
    assert stands["before the crash"] == stands["after the crash"] == [(100, 105)]
    # The checkpoint of the crash is repeated with its own boundary, though more records have come since.
    assert list(dict.fromkeys(stands["after the restart"])) == [(100, 105), (130, 125), (140, 140)]
    assert "DIFFERENT" not in output
    assert output.count("killed with SIGKILL in step 6") == 3


@pytest.mark.timeout(820)
def test_replayed_records_are_seen_twice_at_least_once_and_once_exactly_once(output: str) -> None:
    lines = [line.split() for line in output.splitlines()]
    assert ["exactly-once", "offset", "280", "280", "0"] in lines
    assert ["at-least-once", "server-time", "280", "230", "50"] in lines
