"""Finds the running job that a JOB argument means, and speaks to it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from milepost.errors import ConfigError, NotReachableError
from milepost.job import registry
from milepost.rest.client import Client, split_address

TOKEN = "MILEPOST_TOKEN"
_SHOW_AFTER = 1.0

JobName = Annotated[str, typer.Argument(metavar="JOB", help="Name, id or REST address of a running job.")]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help=f"File with the token, for an address; or {TOKEN} in the environment."),
]
SavepointDir = Annotated[
    str | None,
    typer.Option(
        "--savepoint-dir", help="Where it is made: inside checkpointing.savepoint-dir, which is the default."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@dataclass(frozen=True, slots=True)
class Reached:
    """A running job that can be spoken to."""

    client: Client
    job_id: str

    @property
    def path(self) -> str:
        """Where its resources lie."""
        return f"/jobs/{self.job_id}"


def reach(job: str, token_file: Path | None = None) -> Reached:
    """Return the running job of a name, an id or an address."""
    address = split_address(job)
    if address is not None:
        url, token = address
        client = Client(address=url, token=token or _given_token(token_file) or _known_token(url))
        return Reached(client, client.job_id())
    entry = registry.find(job)
    if entry is None:
        known = ", ".join(each.name for each in registry.entries())
        raise NotReachableError(
            f"No running job of yours on this machine is named {job!r}, nor has this id",
            why=f"running are: {known}" if known else "none is running",
            fix="Name a job that `milepost list` shows, or its address http://host:port",
        )
    return Reached(client_of(entry, token_file), entry.job_id)


def client_of(entry: registry.Entry, token_file: Path | None = None) -> Client:
    """Return what speaks to a job of the registry."""
    token = _given_token(token_file) or _token_in(Path(entry.token_file))
    return Client(address=entry.address, token=token, certificate=entry.certificate)


def saved(reached: Reached, action: str, body: Mapping[str, Any]) -> str:
    """Ask for a savepoint, or for a stop with one, and return where it lies once it is whole."""
    request = reached.client.post(f"{reached.path}/{action}", body)["request-id"]
    with waiting("Waiting for the savepoint to complete …") as look:
        return str(reached.client.wait(f"{reached.path}/savepoints/{request}", look)["location"])


@contextmanager
def waiting(sentence: str) -> Iterator[Callable[[], None]]:
    """Yield what is called while something lasts; a person hears of it once that is longer than a second."""
    began = time.monotonic()
    told: list[bool] = []

    def look() -> None:
        if not told and time.monotonic() - began >= _SHOW_AFTER:
            told.append(True)
            typer.echo(sentence, err=True)
        elif told and sys.stderr.isatty():
            typer.echo(".", err=True, nl=False)

    yield look
    if told and sys.stderr.isatty():
        typer.echo(err=True)


def _given_token(file: Path | None) -> str:
    return _token_in(file) if file is not None else os.environ.get(TOKEN, "").strip()


def _known_token(address: str) -> str:
    """Return the token of a job of this user that runs at the address."""
    entry = next((each for each in registry.entries() if each.address == address), None)
    if entry is None:
        raise ConfigError(
            f"No token is known for {address}",
            fix=f"Give --token-file, set {TOKEN}, or use the address with the token that `run` has printed",
        )
    return _token_in(Path(entry.token_file))


def _token_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"The token cannot be read from {file}", why=str(error)) from None
