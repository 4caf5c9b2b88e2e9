"""`milepost offsets`: what a person reads, what a script gets."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.inspect.left_behind import LeftBehind, completed
from typer.testing import CliRunner

from milepost.cli import app
from milepost.cli.offsets import offsets_lines
from milepost.inspect.offsets import PartitionOffsets
from milepost.inspect.retention import Standing, Verdict

HOUR = 3_600_000


def partition(number: int, verdict: Verdict, group: int | None = 10) -> PartitionOffsets:
    return PartitionOffsets(
        topic="orders", partition=number, checkpoint=10, group=group, earliest=0, latest=15, verdict=verdict
    )


def test_the_time_that_is_left_is_said_and_that_it_is_the_least() -> None:
    verdicts = [Verdict(Standing.RESTORABLE, 11_520_000), Verdict(Standing.CAUGHT_UP, 24 * HOUR)]
    lines = offsets_lines(completed(0), [partition(n, v) for n, v in enumerate(verdicts)], is_asked=True)
    assert all(len(line) <= 80 and line.isascii() for line in lines)
    assert lines[3] == "orders     0          10     10      0         0      15    5  3 h 12 min"
    assert lines[-2] == "Restorable for 3 h 12 min more, at least: Kafka deletes whole segments,"


def test_what_is_lost_comes_first() -> None:
    verdicts = [
        Verdict(Standing.UNRESTORABLE, note="3 offsets after it are gone"),
        Verdict(Standing.RESTORABLE, HOUR),
    ]
    lines = offsets_lines(completed(0), [partition(n, v) for n, v in enumerate(verdicts)], is_asked=True)
    assert lines[-1] == "UNRESTORABLE: orders-0: 3 offsets after it are gone."


def test_without_a_limit_and_with_a_group_ahead() -> None:
    lines = offsets_lines(completed(0), [partition(0, Verdict(Standing.RESTORABLE), group=12)], is_asked=True)
    assert lines[-2:] == [
        "Restorable; no time limits it.",
        "The group is ahead of the checkpoint: somebody else commits to it.",
    ]


def test_a_directory_shows_its_checkpoint_and_says_how_to_get_the_rest(tmp_path: Path) -> None:
    left = LeftBehind(tmp_path / "orders").take(completed(0), completed(1))
    said = CliRunner().invoke(app, ["offsets", str(left.root)])
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("Checkpoint 1, completed 2026-11-15 12:00:10 UTC\n")
    assert "Name the pipeline's FILE" in said.stdout
    document = json.loads(CliRunner().invoke(app, ["offsets", str(left.root), "--at", "0", "--json"]).stdout)
    assert document["checkpoint"] == 0
    assert document["partitions"][0]["checkpoint"] == 10
    assert document["partitions"][0]["standing"] == "UNKNOWN"
