"""`milepost demo` parses, calls, prints the result line last."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from milepost.cli import demo
from milepost.demo.exactly_once import Story
from milepost.verify import Report


def test_the_result_line_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Story] = []

    def run(story: Story) -> Report:
        told.append(story)
        story.say("1. A step with [brackets]")
        return Report(records=story.records)

    monkeypatch.setattr(demo, "run_exactly_once", run)
    result = CliRunner().invoke(
        demo.app, ["exactly-once", "--records", "5000", "--seed", "3", "--kills", "1"]
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "1. A step with [brackets]"
    assert lines[-1] == "VERIFIED records=5000 missing=0 extra=0 stale=0 duplicates=0"
    assert (told[0].records, told[0].seed, told[0].kills, told[0].keep) == (5000, 3, 1, False)


def test_wrong_numbers_are_refused() -> None:
    assert CliRunner().invoke(demo.app, ["exactly-once", "--records", "0"]).exit_code == 2
