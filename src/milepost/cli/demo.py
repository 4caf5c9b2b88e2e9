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
    help="Run a demonstration; it starts what it needs and cleans up afterwards.", no_args_is_help=True
)

Keep = Annotated[bool, typer.Option("--keep", help="Keep the files for inspection.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same records.")]
ServicesDir = Annotated[
    Path | None,
    typer.Option("--services", metavar="DIR", help="Use the services running in DIR instead of new ones."),
]


@app.command("exactly-once")
def exactly_once(
    records: Annotated[int, typer.Option(min=1000, help="Number of records to produce.")] = 240_000,
    seed: Seed = 7,
    kills: Annotated[int, typer.Option(min=0, max=20, help="Number of times to kill the job.")] = 2,
    keep: Keep = False,
    services: ServicesDir = None,
) -> None:
    """Kill a running job several times, then verify that no record is missing, stale or duplicated."""
    from milepost.demo.exactly_once import (
        ExactlyOnce,
        run,
    )  # slow to import: Spark, as in every demonstration

    _print_report(
        run(
            ExactlyOnce(
                records=records,
                seed=seed,
                kills=kills,
                keep=keep,
                services=services,
                say=_printer(out),
                warn=_printer(err),
            )
        )
    )


@app.command()
def failure(keep: Keep = False, services: ServicesDir = None) -> None:
    """Let the sink fail on the 8th record: the records after the last checkpoint are replayed in order."""
    from milepost.demo.environment import DemoOptions
    from milepost.demo.failure import run

    _print_report(run(DemoOptions(keep=keep, services=services, say=_printer(out), warn=_printer(err))))


@app.command()
def restart(seed: Seed = 7, keep: Keep = False, services: ServicesDir = None) -> None:
    """Restart a job from its state, then without state from its group's offsets, then from earliest."""
    from milepost.demo.restart import Restart, run

    _print_report(
        run(Restart(seed=seed, keep=keep, services=services, say=_printer(out), warn=_printer(err)))
    )


@app.command()
def timeline(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=300, help="Duration of each of the two snapshots.")
    ] = 10.0,
    keep: Keep = False,
    services: ServicesDir = None,
) -> None:
    """Print the timeline of a checkpoint with two slow participants, in one chain and in two."""
    from milepost.demo.timeline_demo import Timeline, run

    run(Timeline(seconds=seconds, keep=keep, services=services, say=_printer(out), warn=_printer(err)))


@app.command()
def alignment(keep: Keep = False, services: ServicesDir = None) -> None:
    """Checkpoint two sources together, crash, and compare the table in exactly-once and at-least-once mode."""
    from milepost.demo.alignment_demo import run
    from milepost.demo.environment import DemoOptions

    run(DemoOptions(keep=keep, services=services, say=_printer(out), warn=_printer(err)))


def _print_report(report: Report) -> None:
    for line in report.lines():
        _printer(out)(line)


def _printer(console: Console) -> Callable[[str], None]:
    """Return a function that prints a line without markup: rows and columns may contain brackets."""
    return lambda line: console.print(line, markup=False)
