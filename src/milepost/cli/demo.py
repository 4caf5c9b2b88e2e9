"""`milepost demo`: the demonstrations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from milepost.cli.console import err, out
from milepost.demo.exactly_once import Story
from milepost.demo.exactly_once import run as run_exactly_once

app = typer.Typer(
    help="Demonstrations that start what they need and clean up after themselves.", no_args_is_help=True
)


@app.callback()
def demo() -> None:
    """Keep the name of the demonstration even while there is only one."""


@app.command("exactly-once")
def exactly_once(
    records: Annotated[int, typer.Option(min=1000, help="Records to produce.")] = 240_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same records.")] = 7,
    kills: Annotated[int, typer.Option(min=0, max=20, help="How often the job is killed.")] = 2,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the files for a look.")] = False,
) -> None:
    """Kill a running job again and again, then prove that nothing was lost, stale or counted twice."""
    story = Story(records=records, seed=seed, kills=kills, keep=keep, say=_say(out), warn=_say(err))
    report = run_exactly_once(story)
    for line in report.lines():
        story.say(line)


def _say(console: Console) -> Callable[[str], None]:
    """Return what prints a line as it is: rows and columns may look like markup."""
    return lambda line: console.print(line, markup=False)
