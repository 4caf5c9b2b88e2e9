"""Finds the running job that a JOB argument means, and speaks to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.checkpoint.store.layout import absolute_directory
from milepost.cli.argument import completion
from milepost.errors import ConfigError, MilepostError, NotReachableError
from milepost.job import registry
from milepost.rest.client import Client, split_address

if TYPE_CHECKING:
    from milepost.cli.output.progress import Bar

TOKEN = "MILEPOST_TOKEN"
CA_FILE = "MILEPOST_CA_FILE"
_NO_DIRECTORY = "[execution.checkpointing.savepoint-dir] is not set"
_NAME_A_DIRECTORY = "Give --savepoint-dir, or set checkpointing.savepoint-dir in the pipeline file"

JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="Name, id or REST address of a running job.", autocompletion=completion.jobs
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help=f"File with the token, for an address; or {TOKEN} in the environment."),
]
SavepointDir = Annotated[
    str | None,
    typer.Option(
        "--savepoint-dir",
        help="Where it is made. Default: checkpointing.savepoint-dir; if that is set, a directory inside it.",
    ),
]


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
        entry = next((each for each in registry.entries() if each.address == url), None)
        client = Client(
            address=url,
            token=token or _given_token(token_file) or _known_token(url, entry),
            certificate=_certificate(entry),
        )
        return Reached(client, client.job_id())
    entry = registry.find(job)
    if entry is None:
        known = ", ".join(each.name for each in registry.entries())
        raise NotReachableError(
            f"No running job of yours on this machine is named {job!r}, nor has this id",
            why=f"the running jobs are: {known}" if known else "no job is running",
            fix="Name a job that `milepost list` shows, or its address http://host:port",
        )
    return Reached(client_of(entry, token_file), entry.job_id)


def client_of(entry: registry.Entry, token_file: Path | None = None) -> Client:
    """Return what speaks to a job of the registry."""
    token = _given_token(token_file) or _token_in(Path(entry.token_file))
    return Client(address=entry.address, token=token, certificate=_certificate(entry))


def saved(reached: Reached, action: str, body: Mapping[str, Any]) -> str:
    """Ask for a savepoint, or for a stop with one, and return where it lies once it is whole."""
    try:
        request = reached.client.post(f"{reached.path}/{action}", body)["request-id"]
    except ConfigError as error:
        if _NO_DIRECTORY in error.what:
            raise ConfigError(error.what, fix=_NAME_A_DIRECTORY) from error
        raise
    location = f"{reached.path}/savepoints/{request}"
    return str(waited(reached, location, "Waiting for the savepoint to complete …")["location"])


@contextmanager
def savepoint_directory(reached: Reached, directory: str | None) -> Iterator[str | None]:
    """Lend out a directory for a savepoint as an absolute path; a job of this user may use it without configuration."""
    if directory is None:
        yield None
        return
    path = absolute_directory(directory)
    if registry.find(reached.job_id) is None:
        yield path  # a job of another user or machine knows only its configuration
        return
    with registry.grant_directory(reached.job_id, path):
        yield path


def waited(reached: Reached, operation: str, title: str) -> dict[str, Any]:
    """Return what came of an operation once it is done; meanwhile a person sees the acknowledgements come."""
    from milepost.cli.output.progress import working  # rich is slow to import

    with working(title) as bar:
        return reached.client.wait(operation, lambda: show_acknowledgements(reached, bar))


def show_acknowledgements(reached: Reached, bar: Bar) -> None:
    """Move the bar to how many participants of the running checkpoint have said that they are done."""
    if not bar.is_watched:
        return
    with suppress(
        MilepostError
    ):  # a job that has just ended answers no more, and the bar is not what matters
        pending = reached.client.get(f"/milepost{reached.path}/checkpoints/pending")["pending"]
        if pending:
            said, missing = len(pending["acknowledged"]), len(pending["missing"])
            bar.at(said, said + missing, "acknowledged")


def _given_token(file: Path | None) -> str:
    return _token_in(file) if file is not None else os.environ.get(TOKEN, "").strip()


def _certificate(entry: registry.Entry | None) -> str | None:
    """Return what a server must prove itself with: the file that was named, or that of a job of this user."""
    return os.environ.get(CA_FILE) or (entry.certificate if entry else None)


def _known_token(address: str, entry: registry.Entry | None) -> str:
    """Return the token of a job of this user that runs at the address."""
    if entry is None:
        raise ConfigError(
            f"No token is known for {address}",
            fix=f"Give --token-file, set {TOKEN}, or write the token into the address: URL/?token=TOKEN",
        )
    return _token_in(Path(entry.token_file))


def _token_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"The token cannot be read from {file}", why=str(error)) from None
