"""Writes docs/reference/cli.md from the commands: `python -m milepost.cli.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from milepost.cli.commands import COMMANDS, Commands

_HEAD = """\
# Command line

Every command of `milepost`. Written by `make docs` from the code; do not edit.

`JOB` is the name, the id or the REST address of a running job; where files are enough, also a pipeline's file, a
checkpoint directory or a savepoint. `--debug` before the command shows the stack trace of an error. `--json` prints one
JSON document to stdout and nothing else.

| exit code | means |
|---|---|
| 0 | fine |
| 1 | the job failed, an operation failed, or nobody reads the output any more |
| 2 | bad input; nothing was started or changed |
| 3 | not found, or not reachable |
| 4 | `verify` found differences; `offsets --check` found what cannot be restored |

Results go to stdout, everything else to stderr. What lasts longer than a second shows a bar, on a terminal only.
`NO_COLOR` switches colours off. In the C locale, and wherever a letter is missing, plain ASCII is written.

Completion: `milepost --install-completion` for the shell it is called from (bash, zsh, fish), then open a new one.
It knows commands, options, running jobs, and the checkpoints of the job that the line names.
"""


def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield a command, or those below it, each with its full name."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
    else:
        for own, each in below.items():
            yield from walk(f"{name} {own}", each)


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that can be typed, with its full name."""
    loaded = Commands(COMMANDS)
    for name in COMMANDS:
        yield from walk(name, loaded[name])


def render() -> str:
    """Return the whole page."""
    loaded, lines = Commands(COMMANDS), [_HEAD]
    for panel, names in groupby(COMMANDS, key=lambda name: COMMANDS[name].panel):
        lines.append(f"## {panel}\n")
        for each in names:
            for name, command in walk(each, loaded[each]):
                lines += _section(name, command)
    return "\n".join(lines)


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    typed = " ".join(_typed(each) for each in arguments)
    yield f"### `{' '.join(('milepost', name, typed)).rstrip()}`\n"
    for paragraph in command.help.strip().split("\n\n"):
        yield " ".join(line.strip() for line in paragraph.splitlines()) + "\n"
    rows = [(_label(each), each.help or "", _default(each)) for each in command.params if each.name != "help"]
    if rows:
        yield "| | meaning | default |\n|---|---|---|"
        yield from (f"| {label} | {_cell(meaning)} | {default} |" for label, meaning, default in rows)
        yield ""


def _typed(argument: Any) -> str:
    shown = (argument.metavar or argument.name.upper()).strip("[]")
    return shown if argument.required else f"[{shown}]"


def _label(each: Any) -> str:
    if each.param_type_name == "argument":
        return f"`{_typed(each)}`"
    value = "" if each.is_flag else f" {each.metavar or 'VALUE'}"
    return _cell(", ".join(f"`{option}{value}`" for option in each.opts))


def _default(each: Any) -> str:
    if each.required:
        return "required"
    is_said = each.default not in (None, False, ()) and not callable(each.default)
    return f"`{each.default}`" if is_said else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
