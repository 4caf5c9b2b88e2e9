"""`milepost offsets`: what a person reads, what a script gets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from tests.unit.inspect.left_behind import LeftBehind, completed
from typer.testing import CliRunner

from milepost.cli import app
from milepost.cli.argument.running_job import JobConnection
from milepost.cli.inspect.offsets import OffsetsReport, ask_job, offsets_lines
from milepost.errors import NotReachableError
from milepost.inspect.offsets import PartitionOffsets, Stale
from milepost.inspect.retention import Standing, Verdict
from milepost.rest.client import Client
from milepost.rest.milepost.partition_json import partition_to_json

HOUR = 3_600_000


def partition(number: int, verdict: Verdict, group: int | None = 10) -> PartitionOffsets:
    return PartitionOffsets(
        topic="orders", partition=number, checkpoint=10, group=group, earliest=0, latest=15, verdict=verdict
    )


def seen(*partitions: PartitionOffsets) -> OffsetsReport:
    return OffsetsReport("Checkpoint 0", 0, partitions, has_broker_offsets=True)


class Asked(NamedTuple):
    """A client of a job that answers one thing after another."""

    answers: list[dict[str, Any]]

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/milepost/jobs/7/offsets"
        return self.answers.pop(0)


def answer(**changed: Any) -> dict[str, Any]:
    partitions = [partition_to_json(partition(0, Verdict(Standing.RESTORABLE, HOUR)))]
    whole = {
        "checkpoint": 3,
        "newest-checkpoint": 3,
        "asked-at": 1,
        "age-ms": 2000,
        "asking": False,
        "error": None,
    }
    return {**whole, "partitions": partitions, **changed}


def test_a_running_job_is_asked_until_its_broker_has_answered() -> None:
    client = Asked([answer(asking=True, partitions=[]), answer()])
    found = ask_job(JobConnection(cast(Client, client), "7"), 5)
    assert found == OffsetsReport(
        "Checkpoint 3, asked 2.0 s ago", 3, [partition(0, Verdict(Standing.RESTORABLE, HOUR))], True
    )
    assert not client.answers


def test_an_answer_about_a_passed_checkpoint_is_not_shown() -> None:
    client = Asked([answer(checkpoint=0), answer(checkpoint=0, asking=True), answer()])
    assert ask_job(JobConnection(cast(Client, client), "7"), 5).checkpoint_id == 3


def test_an_answer_that_came_after_the_command_began_is_shown() -> None:
    client = Asked([answer(checkpoint=2, asking=True, **{"age-ms": 0})])
    assert ask_job(JobConnection(cast(Client, client), "7"), 5).checkpoint_id == 2


def test_a_job_that_cannot_ask_its_broker_says_why() -> None:
    client = Asked([answer(error="no answer", **{"asked-at": None})])
    with pytest.raises(NotReachableError, match="The job could not query Kafka: no answer"):
        ask_job(JobConnection(cast(Client, client), "7"), 5)


def test_a_broker_that_is_silent_is_not_waited_for_ever() -> None:
    with pytest.raises(NotReachableError, match="did not answer the job within 0 s"):
        ask_job(JobConnection(cast(Client, Asked([answer(asking=True)])), "7"), 0)


def test_the_time_that_is_left_is_said_and_that_it_is_the_least() -> None:
    verdicts = [Verdict(Standing.RESTORABLE, 11_520_000), Verdict(Standing.CAUGHT_UP, 24 * HOUR)]
    lines = offsets_lines(seen(*(partition(n, v) for n, v in enumerate(verdicts))))
    assert all(len(line) <= 80 and line.isascii() for line in lines)
    assert lines[3] == "orders     0          10     10      0         0      15    5  3 h 12 min"
    assert lines[-2] == "Restorable for at least 3 h 12 min: Kafka deletes whole segments,"


def test_what_is_lost_comes_first() -> None:
    verdicts = [
        Verdict(Standing.UNRESTORABLE, note="3 offsets after it were deleted"),
        Verdict(Standing.RESTORABLE, HOUR),
    ]
    lines = offsets_lines(seen(*(partition(n, v) for n, v in enumerate(verdicts))))
    assert lines[-1] == "UNRESTORABLE: orders-0: 3 offsets after it were deleted."


def test_without_a_limit_and_with_a_group_ahead() -> None:
    lines = offsets_lines(seen(partition(0, Verdict(Standing.RESTORABLE), group=12)))
    assert lines[-2:] == [
        "Restorable, without a time limit.",
        "The group is ahead of the checkpoint: another client commits to it.",
    ]


def test_a_group_that_stands_in_a_deleted_topic_is_said() -> None:
    stale = replace(partition(0, Verdict(Standing.RESTORABLE), group=12), stale=Stale(group=True))
    lines = offsets_lines(seen(stale, partition(1, Verdict(Standing.RESTORABLE))))
    assert lines[3].split()[3:5] == ["12", "-"], "no drift"
    assert lines[-2:] == [
        "The group's offset belongs to a deleted topic of the same name in orders-0:",
        "a start from group offsets does not use it.",
    ]


def test_a_directory_shows_its_checkpoint_and_says_how_to_get_the_rest(tmp_path: Path) -> None:
    left = LeftBehind(tmp_path / "orders").take(completed(0), completed(1))
    said = CliRunner().invoke(app, ["offsets", str(left.root)])
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("Checkpoint 1, completed 2026-11-15 12:00:10 UTC\n")
    assert "Give the pipeline's FILE" in said.stdout
    document = json.loads(CliRunner().invoke(app, ["offsets", str(left.root), "--at", "0", "--json"]).stdout)
    assert document["checkpoint"] == 0
    assert document["partitions"][0]["checkpoint"] == 10
    assert document["partitions"][0]["standing"] == "UNKNOWN"
