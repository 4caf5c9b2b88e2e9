"""`milepost chaos`: the plan is printed, and what is run is what was typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from milepost.cli import app
from milepost.demo.chaos import Chaos
from milepost.verify import Report


def test_the_plan_alone() -> None:
    words = ["chaos", "x.yaml", "--seed", "7", "--faults", "3", "--plan"]
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    assert [line.split(".")[0] for line in lines] == ["1", "2", "3"]
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert document["plan"][0]["fault"] == "kill-driver"


def test_a_seed_is_needed() -> None:
    assert CliRunner().invoke(app, ["chaos", "x.yaml"]).exit_code == 2


def test_what_is_typed_is_run_and_its_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Chaos] = []

    def proved(each: Chaos) -> Report:
        run.append(each)
        return Report(records=9)

    monkeypatch.setattr("milepost.demo.chaos.run", proved)
    words = ["chaos", "x.yaml", "--seed", "7", "--services", "some/where"]
    assert CliRunner().invoke(app, words).stdout.splitlines()[-1].startswith("VERIFIED records=9")
    assert (run[0].seed, run[0].faults, run[0].services) == (7, 5, Path("some/where"))
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert document["result"]["verified"] is True
