"""The demos as a user runs them; what they say is compared with what they have left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.system.lab import Lab

from milepost.config import load_config
from milepost.services import Services

RECORDS = 24_000


def demo(folder: Path, *arguments: str) -> list[str]:
    """Run a demo whose files are in this folder, and return its lines."""
    result = subprocess.run(
        [sys.executable, "-m", "milepost", "demo", *arguments],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert leftovers(folder) == []
    return result.stdout.splitlines()


@pytest.mark.timeout(420)
def test_the_demo_survives_a_kill_and_proves_it(tmp_path: Path) -> None:
    folder = tmp_path / "a place"
    folder.mkdir()
    lines = demo(folder, "exactly-once", "--records", str(RECORDS), "--kills", "1")
    assert lines[-1] == f"VERIFIED records={RECORDS} missing=0 extra=0 stale=0 duplicates=0"
    assert [line for line in lines if re.search(r"killed with SIGKILL in the middle of checkpoint \d+", line)]
    assert list(folder.iterdir()) == []


@pytest.mark.timeout(420)
def test_after_a_failure_what_follows_the_last_checkpoint_comes_again_in_order(
    lab: Lab, running_services: Services, tmp_path: Path
) -> None:
    lines = demo(tmp_path, "failure", "--keep", "--services", str(running_services.directory))
    assert lines[-1] == "VERIFIED records=14 missing=0 extra=0 stale=0 duplicates=0"
    (folder,) = tmp_path.iterdir()
    ours = folder / "checkpoint" / "milepost"
    # Partition 1 and 2 of the story are Kafka's 0 and 1.
    before = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]
    after = [(0, 4), (0, 5), (0, 6), (0, 7), (1, 3), (1, 4), (1, 5)]
    arrivals = [tuple(json.loads(line)) for line in lines_of(folder / "arrivals.jsonl")]
    assert [(attempt, (p, offset)) for _, attempt, p, offset in arrivals] == [
        *((1, record) for record in before + after),
        *((2, record) for record in after),
    ]
    checkpoints = [
        next(iter(event["sources"][0].values()))
        for event in map(json.loads, lines_of(ours / "history.jsonl"))
        if event["event"] == "completed-checkpoint"
    ]
    assert {"0": 4, "1": 3} in checkpoints
    assert checkpoints[-1] == {"0": 8, "1": 6}
    (failure,) = map(json.loads, lines_of(ours / "exceptions.jsonl"))
    assert "the sink fails on record number 8" in failure["what"]
    assert (failure["attempt"], failure["status"]) == (1, "RESTARTING")
    # The table itself, every version of every cell: one put per column of each record, with its offset as version.
    rows = sorted((p, offset) for p, offset in before + after)
    assert sorted(
        (cell[0], cell[2], cell[3], cell[4]) for cell in lab.cells(load_config(folder / "pipeline.yaml"))
    ) == [
        (f"order-{p + 1}-{offset}".encode(), column, offset, "Put")
        for p, offset in rows
        for column in (b"amount", b"customer", b"seq")
    ]
    assert "   partition 1: offsets 4, 5, 6, 7" in lines
    assert "   partition 2: offsets 3, 4, 5" in lines


@pytest.mark.timeout(420)
def test_a_restart_begins_from_state_then_from_the_group_then_from_earliest(
    running_services: Services, tmp_path: Path
) -> None:
    lines = demo(tmp_path, "restart", "--keep", "--services", str(running_services.directory))
    assert lines[-1] == "VERIFIED records=200 missing=0 extra=0 stale=0 duplicates=0"
    (folder,) = tmp_path.iterdir()
    first, second, third, fourth = (beginnings(folder / f"plan-{step}.json") for step in range(2, 6))
    assert first == fourth == [(0, "earliest: the group has no offset")] * 2
    (resumed,) = {reason for _, reason in second}
    assert re.fullmatch(r"checkpoint \d+", resumed)
    assert {reason for _, reason in third} == {"group offset"}
    # Each start goes on behind the 50 records of the one before; the last begins anew.
    assert [sum(offset for offset, _ in plan) for plan in (first, second, third, fourth)] == [0, 50, 100, 0]
    assert sum(line == "   killed with SIGKILL" for line in lines) == 4


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def beginnings(plan: Path) -> list[tuple[int, str]]:
    """Return offset and reason of each partition in a start-up plan that a job has stored."""
    partitions = json.loads(plan.read_text(encoding="utf-8"))["plan"]["partitions"]
    return [
        (each["offset"], each["reason"]) for each in sorted(partitions, key=lambda each: each["partition"])
    ]


def leftovers(folder: Path) -> list[str]:
    """Return the processes that still have something to do with the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if str(folder) in command:
            found.append(command)
    return found
