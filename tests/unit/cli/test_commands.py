"""The table of commands: everything in it is there, and nothing is imported before it is used."""

from __future__ import annotations

import subprocess
import sys
from itertools import groupby

import pytest
from typer.testing import CliRunner

import milepost
from milepost.cli import app
from milepost.cli.commands import COMMANDS, CommandEntry, Commands

HEAVY = ("pyspark", "pydantic", "confluent_kafka", "rich.console")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_help(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert name in result.output


def test_the_help_names_every_command_in_order() -> None:
    said = CliRunner().invoke(app, ["--help"]).output
    places = [said.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_sentence_of_its_help(name: str) -> None:
    command = Commands(COMMANDS)[name]
    assert COMMANDS[name].summary == command.help.partition("\n\n")[0].replace("\n", " ")


def test_panels_stand_together() -> None:
    panels = [listed.panel for listed in COMMANDS.values()]
    assert len([panel for panel, _ in groupby(panels)]) == len(set(panels))


def test_help_and_names_come_without_the_commands_modules() -> None:
    code = """
import sys
LIGHT = {"milepost.cli.commands", "milepost.cli.output", "milepost.cli.output.encoding"}
from typer.testing import CliRunner
from milepost.cli import app
for words in (["--help"], ["chekpoint"]):
    CliRunner().invoke(app, words)
print([m for m in sys.modules if m.startswith("milepost.cli.") and m not in LIGHT])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_completion_waits_for_no_module_that_is_slow() -> None:
    """What stands behind a command is imported when it runs, not when a shell asks for its options."""
    code = """
import sys
from milepost.cli.commands import COMMANDS, Commands
commands = Commands(COMMANDS)
for name in COMMANDS:
    commands[name]
print([m for m in ("pyspark", "fastapi", "milepost.config.reading.load") if m in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_command_is_imported_once_and_when_it_is_asked_for() -> None:
    commands = Commands(
        {"services": COMMANDS["services"], "nothing": CommandEntry("", "no_such_module:run", "")}
    )
    assert list(commands) == ["services", "nothing"]
    assert len(commands) == 2
    assert commands["services"] is commands["services"]
    with pytest.raises(KeyError):
        commands["missing"]


def test_a_command_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(app, ["chekpoint"])
    assert result.exit_code == 2
    assert "No such command" in result.output


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    code = f"import sys, milepost.cli; print([m for m in {HEAVY!r} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("name", milepost.__all__)
def test_each_public_name_can_be_had(name: str) -> None:
    assert getattr(milepost, name).__name__ == name


def test_what_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = milepost.Nothing
