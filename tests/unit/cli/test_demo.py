"""`milepost demo` parses, calls, prints the result line last."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from milepost.cli import demo
from milepost.demo.environment import DemoOptions
from milepost.demo.exactly_once import ExactlyOnce
from milepost.demo.timeline_demo import Timeline
from milepost.verify import Report


def test_the_result_line_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[ExactlyOnce] = []

    def run(demo: ExactlyOnce) -> Report:
        told.append(demo)
        demo.say("1. A step with [brackets]")
        return Report(records=demo.records)

    monkeypatch.setattr("milepost.demo.exactly_once.run", run)
    result = CliRunner().invoke(
        demo.app, ["exactly-once", "--records", "5000", "--seed", "3", "--kills", "1"]
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "1. A step with [brackets]"
    assert lines[-1] == "VERIFIED records=5000 missing=0 extra=0 stale=0 duplicates=0"
    assert (told[0].records, told[0].seed, told[0].kills, told[0].keep) == (5000, 3, 1, False)


@pytest.mark.parametrize("name", ["failure", "restart"])
def test_each_demo_takes_running_services_and_keeps_its_files(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    told: list[DemoOptions] = []

    def run(demo: DemoOptions) -> Report:
        told.append(demo)
        return Report(records=14)

    monkeypatch.setattr(f"milepost.demo.{name}.run", run)
    result = CliRunner().invoke(demo.app, [name, "--keep", "--services", "some/where"])
    assert result.stdout.splitlines() == ["VERIFIED records=14 missing=0 extra=0 stale=0 duplicates=0"]
    assert (told[0].keep, told[0].services) == (True, Path("some/where"))


@pytest.mark.parametrize("name", ["timeline", "alignment"])
def test_a_demo_that_proves_by_its_own_lines_prints_no_more(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    told: list[DemoOptions] = []

    def run(demo: DemoOptions) -> None:
        told.append(demo)
        demo.say("1. participants=[a, b]")

    monkeypatch.setattr(f"milepost.demo.{name}_demo.run", run)
    result = CliRunner().invoke(demo.app, [name, "--keep", "--services", "some/where"])
    assert result.stdout.splitlines() == ["1. participants=[a, b]"]
    assert (told[0].keep, told[0].services) == (True, Path("some/where"))


@pytest.mark.parametrize(("arguments", "seconds"), [([], 10), (["--seconds", "0.5"], 0.5)])
def test_how_slow_the_snapshots_are_is_for_the_user_to_say(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], seconds: float
) -> None:
    told: list[Timeline] = []
    monkeypatch.setattr("milepost.demo.timeline_demo.run", told.append)
    assert CliRunner().invoke(demo.app, ["timeline", *arguments]).exit_code == 0
    assert told[0].seconds == seconds


def test_the_demos_are_listed() -> None:
    listing = CliRunner().invoke(demo.app, ["--help"]).stdout
    names = ("exactly-once", "failure", "restart", "timeline", "alignment")
    assert [name in listing for name in names] == [True] * 5


def test_wrong_numbers_are_refused() -> None:
    assert CliRunner().invoke(demo.app, ["exactly-once", "--records", "0"]).exit_code == 2
    assert CliRunner().invoke(demo.app, ["timeline", "--seconds", "0"]).exit_code == 2
