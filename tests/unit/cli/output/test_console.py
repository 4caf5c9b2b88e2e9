from __future__ import annotations

import logging

import pytest
from rich.console import Console

from milepost.cli.output import console
from milepost.cli.output.console import print_error
from milepost.errors import ConfigError, ConfigFault, PreflightError


def test_an_error_says_what_why_and_how(capsys: pytest.CaptureFixture[str]):
    print_error(PreflightError("Table 'x' does not exist", why="nobody made it", fix="Create it"))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "Error: Table 'x' does not exist",
        "  Why: Nobody made it",
        "  Fix: Create it",
    ]


def test_every_fault_of_a_configuration_is_a_line(capsys: pytest.CaptureFixture[str]):
    faults = [ConfigFault("a.b", "is wrong", 3), ConfigFault("c", "is missing")]
    print_error(ConfigError("x.yaml has 2 faults", faults=faults))
    assert "  - a.b (line 3): is wrong\n  - c: is missing\n" in capsys.readouterr().err


def test_square_brackets_are_text_and_no_markup(capsys: pytest.CaptureFixture[str]):
    print_error(PreflightError("Use local[4]"))
    assert "local[4]" in capsys.readouterr().err


def test_an_unexpected_error_has_no_stack_trace(capsys: pytest.CaptureFixture[str]):
    print_error(ZeroDivisionError("division by zero"))
    said = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in said
    assert "Traceback" not in said


def test_what_is_printed_becomes_lines_of_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(console, "out", Console())
    monkeypatch.setattr(console, "err", Console(stderr=True))
    console.log_all_output()
    with caplog.at_level(logging.INFO, "milepost.run"):
        console.out.print("one\n\ntwo", end="")
        console.out.print(" and a half")
        console.out.print("  Warning: the table is old")
        console.err.print("careful")
        console.print_error(PreflightError("No table", why="it is gone", fix="Make it"))
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "one"),
        ("INFO", "two and a half"),
        ("WARNING", "  Warning: the table is old"),
        ("WARNING", "careful"),
        ("ERROR", "No table"),
    ]
    assert (caplog.records[-1].__dict__["why"], caplog.records[-1].__dict__["fix"]) == (
        "it is gone",
        "Make it",
    )
