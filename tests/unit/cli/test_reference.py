"""The page of commands, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from milepost.cli.commands import COMMANDS, Commands
from milepost.cli.reference import render, walk

NO_TABLE = {"demo exactly-once", "demo failure", "demo restart", "demo timeline", "demo alignment"}
"""They print text only; their result is in the last line."""


def all_commands() -> Iterator[tuple[str, Any]]:
    loaded = Commands(COMMANDS)
    for name in COMMANDS:
        yield from walk(name, loaded[name])


def test_every_command_is_on_the_page() -> None:
    page = render()
    assert [name for name, _ in all_commands() if f"### `milepost {name}" not in page] == []


def test_arguments_options_and_defaults_are_said() -> None:
    page = render()
    assert "### `milepost checkpoint show JOB [N]`" in page
    assert "| `--limit VALUE` | Maximum number, newest first; 0 shows all. | `50` |" in page
    assert "| `--claim-mode claim\\|no-claim` |" in page


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=each[0]) for each in all_commands()])
def test_a_program_can_read_what_a_command_prints(name: str, command: object) -> None:
    options = {option for each in command.params for option in each.opts}  # type: ignore[attr-defined]
    assert ("--json" in options) != (name in NO_TABLE)
