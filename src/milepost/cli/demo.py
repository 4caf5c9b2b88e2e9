"""`milepost demo`: the demonstrations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli.output.console import err, out

if TYPE_CHECKING:
    from rich.console import Console

    from milepost.verify import Report

app = typer.Typer(
    help="Demonstrations that start what they need and clean up after themselves.", no_args_is_help=True
)

Keep = Annotated[bool, typer.Option("--keep", help="Keep the files for a look.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same records.")]
ServicesDir = Annotated[
    Path | None,
    typer.Option("--services", metavar="DIR", help="Use the services running in DIR instead of new ones."),
]


@app.command("exactly-once")
def exactly_once(
    records: Annotated[int, typer.Option(min=1000, help="Records to produce.")] = 240_000,
    seed: Seed = 7,
    kills: Annotated[int, typer.Option(min=0, max=20, help="How often the job is killed.")] = 2,
    keep: Keep = False,
    services: ServicesDir = None,
) -> None:
    """Kill a running job again and again, then prove that nothing was lost, stale or counted twice."""
    from milepost.demo.exactly_once import ExactlyOnce, run  # Spark, as every demonstration

    _tell(
        run(
            ExactlyOnce(
                records=records,
                seed=seed,
                kills=kills,
                keep=keep,
                services=services,
                say=_say(out),
                warn=_say(err),
            )
        )
    )


@app.command()
def failure(keep: Keep = False, services: ServicesDir = None) -> None:
    """Let the sink fail on the 8th record: what comes after the last checkpoint comes again, in order."""
    from milepost.demo.environment import Story
    from milepost.demo.failure import run

    _tell(run(Story(keep=keep, services=services, say=_say(out), warn=_say(err))))


@app.command()
def restart(seed: Seed = 7, keep: Keep = False, services: ServicesDir = None) -> None:
    """Start a job again from its state, then without it from its group's offsets, then from earliest."""
    from milepost.demo.restart import Restart, run

    _tell(run(Restart(seed=seed, keep=keep, services=services, say=_say(out), warn=_say(err))))


@app.command()
def timeline(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=300, help="How long each of the two snapshots takes.")
    ] = 10.0,
    keep: Keep = False,
    services: ServicesDir = None,
) -> None:
    """Print one checkpoint as a time line, its two slow participants in one chain, then in two."""
    from milepost.demo.timeline_story import Timeline, run

    run(Timeline(seconds=seconds, keep=keep, services=services, say=_say(out), warn=_say(err)))


@app.command()
def alignment(keep: Keep = False, services: ServicesDir = None) -> None:
    """Cut two sources together, crash, and compare what is in the table, exactly-once and at-least-once."""
    from milepost.demo.alignment_story import run
    from milepost.demo.environment import Story

    run(Story(keep=keep, services=services, say=_say(out), warn=_say(err)))


def _tell(report: Report) -> None:
    for line in report.lines():
        _say(out)(line)


def _say(console: Console) -> Callable[[str], None]:
    """Return what prints a line as it is: rows and columns may look like markup."""
    return lambda line: console.print(line, markup=False)
