"""`milepost services up|down|status`: the embedded Kafka and HBase from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.argument.arguments import Json
from milepost.cli.output import table
from milepost.cli.output.progress import progress_bar
from milepost.services import Endpoints, Services, ServiceStatus, State

DEFAULT_DIR = Path(".milepost/services")
NOT_RUNNING = 3
HEADINGS = ("SERVICE", "STATE", "PID", "ADDRESS", "UPTIME", "LOG")

app = typer.Typer(
    help="Run a real Kafka and a real HBase on this machine, for trying and testing.", no_args_is_help=True
)

Dir = Annotated[Path, typer.Option("--dir", help="Directory of their data, logs and settings.")]


@app.command()
def up(directory: Dir = DEFAULT_DIR, as_json: Json = False) -> None:
    """Start Kafka and HBase, and wait until clients can use them; they run until `down`."""
    with _progress("Starting Kafka and HBase …") as report:
        services = Services(directory, report=report)
        endpoints = services.up()
    if as_json:
        table.print_json(_up_document(endpoints, services))
    else:
        table.print_lines([up_text(endpoints, services.status(), directory)])


@app.command()
def down(directory: Dir = DEFAULT_DIR, as_json: Json = False) -> None:
    """Stop the services that `up` started in this directory; the data is kept."""
    with _progress("Stopping Kafka and HBase …") as report:
        stopped = Services(directory, report=report).down()
    if as_json:
        table.print_json({"stopped": list(stopped)})
    elif stopped:
        table.print_lines([f"Stopped: {', '.join(stopped)}. The data is kept in {directory}."])
    else:
        table.print_lines([f"Nothing was running in {directory}."])


@app.command()
def status(directory: Dir = DEFAULT_DIR, as_json: Json = False) -> None:
    """Show the state of the services; exit code 3 if none is running."""
    statuses = Services(directory).status()
    if as_json:
        table.print_json([status_document(each) for each in statuses])
    else:
        table.print_lines([status_table(statuses)])
    if all(each.state in (State.STOPPED, State.STALE) for each in statuses):
        raise typer.Exit(NOT_RUNNING)


def up_text(endpoints: Endpoints, statuses: Sequence[ServiceStatus], directory: Path) -> str:
    """Return what a user needs next: the two settings, the logs and the command to stop."""
    logs = [f"log of {each.name + ':':<15}{each.log}" for each in statuses]
    option = "" if directory == DEFAULT_DIR else f" --dir {shlex.quote(str(directory))}"
    return "\n".join(
        [
            f"bootstrap-servers:    {endpoints.bootstrap_servers}",
            f"quorum:               {endpoints.quorum}",
            *logs,
            f"stop them with:       milepost services down{option}",
        ]
    )


def status_table(statuses: Sequence[ServiceStatus]) -> str:
    """Return a table with one line per service."""
    rows = [HEADINGS, *(_cells(each) for each in statuses)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    padded = (map(str.ljust, row, widths) for row in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def status_document(status: ServiceStatus) -> dict[str, object]:
    """Return one service as JSON."""
    return {
        "name": status.name,
        "state": status.state.value,
        "pid": status.pid,
        "address": status.address or None,
        "log": str(status.log),
        "uptime-seconds": round(status.uptime.total_seconds(), 1) if status.uptime is not None else None,
    }


def _cells(status: ServiceStatus) -> tuple[str, ...]:
    pid = "-" if status.pid is None else str(status.pid)
    state, address, uptime = status.state.value, status.address or "-", _uptime(status.uptime)
    return (status.name, state, pid, address, uptime, str(status.log))


def _uptime(uptime: timedelta | None) -> str:
    return "-" if uptime is None else str(timedelta(seconds=int(uptime.total_seconds())))


def _up_document(endpoints: Endpoints, services: Services) -> dict[str, object]:
    return {
        "bootstrap-servers": endpoints.bootstrap_servers,
        "quorum": endpoints.quorum,
        "dir": str(services.directory),
        "services": [status_document(each) for each in services.status()],
    }


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that prints a line per step to stderr, above the bar if there is one."""
    with progress_bar(title) as bar:
        yield bar.print_line
