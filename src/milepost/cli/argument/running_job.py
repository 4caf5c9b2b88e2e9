"""Finds the running job that a JOB argument names, and connects to it over REST."""

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
    typer.Option(
        "--token-file",
        help=f"File with the token for a REST address. Default: the environment variable {TOKEN}.",
    ),
]
SavepointDir = Annotated[
    str | None,
    typer.Option(
        "--savepoint-dir",
        help="Target directory. Default: checkpointing.savepoint-dir. If that is set, it must be inside it.",
    ),
]


@dataclass(frozen=True, slots=True)
class JobConnection:
    """A running job and the client that reaches it."""

    client: Client
    job_id: str

    @property
    def path(self) -> str:
        """The path of its resources."""
        return f"/jobs/{self.job_id}"


def connect(job: str, token_file: Path | None = None) -> JobConnection:
    """Return a connection to the running job with this name, id or address."""
    address = split_address(job)
    if address is not None:
        url, token = address
        entry = next((each for each in registry.entries() if each.address == url), None)
        client = Client(
            address=url,
            token=token or _given_token(token_file) or _known_token(url, entry),
            certificate=_certificate(entry),
        )
        return JobConnection(client, client.job_id())
    entry = registry.find(job)
    if entry is None:
        known = ", ".join(each.name for each in registry.entries())
        raise NotReachableError(
            f"You have no running job on this machine with the name or id {job!r}",
            why=f"the running jobs are: {known}" if known else "no job is running",
            fix="Give a job that `milepost list` shows, or its address http://host:port",
        )
    return JobConnection(client_of(entry, token_file), entry.job_id)


def client_of(entry: registry.Entry, token_file: Path | None = None) -> Client:
    """Return a client of a registered job."""
    token = _given_token(token_file) or _token_in(Path(entry.token_file))
    return Client(address=entry.address, token=token, certificate=_certificate(entry))


def take_savepoint(connection: JobConnection, action: str, body: Mapping[str, Any]) -> str:
    """Request a savepoint, or a stop with one, and return its location when it is complete."""
    try:
        request = connection.client.post(f"{connection.path}/{action}", body)["request-id"]
    except ConfigError as error:
        if _NO_DIRECTORY in error.what:
            raise ConfigError(error.what, fix=_NAME_A_DIRECTORY) from error
        raise
    location = f"{connection.path}/savepoints/{request}"
    return str(
        wait_for_operation(connection, location, "Waiting for the savepoint to complete …")["location"]
    )


@contextmanager
def savepoint_directory(connection: JobConnection, directory: str | None) -> Iterator[str | None]:
    """Yield the savepoint directory as an absolute path; a job of this user accepts it without configuration."""
    if directory is None:
        yield None
        return
    path = absolute_directory(directory)
    if registry.find(connection.job_id) is None:
        yield path  # a job of another user or machine accepts only its configured directory
        return
    with registry.grant_directory(connection.job_id, path):
        yield path


def wait_for_operation(connection: JobConnection, operation: str, title: str) -> dict[str, Any]:
    """Return the result of an operation; a progress bar shows the acknowledgements until then."""
    from milepost.cli.output.progress import progress_bar  # rich is slow to import

    with progress_bar(title) as bar:
        return connection.client.wait(operation, lambda: show_acknowledgements(connection, bar))


def show_acknowledgements(connection: JobConnection, bar: Bar) -> None:
    """Show on the bar how many participants have acknowledged the running checkpoint."""
    if not bar.is_visible:
        return
    with suppress(MilepostError):  # a job that has just ended no longer responds
        pending = connection.client.get(f"/milepost{connection.path}/checkpoints/pending")["pending"]
        if pending:
            done, missing = len(pending["acknowledged"]), len(pending["missing"])
            bar.update(done, done + missing, "acknowledged")


def _given_token(file: Path | None) -> str:
    return _token_in(file) if file is not None else os.environ.get(TOKEN, "").strip()


def _certificate(entry: registry.Entry | None) -> str | None:
    """Return the CA file that verifies the server: the configured one, or that of a job of this user."""
    return os.environ.get(CA_FILE) or (entry.certificate if entry else None)


def _known_token(address: str, entry: registry.Entry | None) -> str:
    """Return the token of this user's job at the address."""
    if entry is None:
        raise ConfigError(
            f"No token is known for {address}",
            fix=f"Give --token-file, set {TOKEN}, or add the token to the address: URL/?token=TOKEN",
        )
    return _token_in(Path(entry.token_file))


def _token_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ConfigError(f"The token cannot be read from {file}", why=str(error)) from None
