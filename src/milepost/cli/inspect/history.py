"""`milepost history`: the dashboard and the REST interface of a job, from its checkpoint directory alone."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.checkpoint.store.history import History
from milepost.cli.argument.arguments import Json, Settings
from milepost.cli.argument.checkpoint_place import Kind, Target, resolve
from milepost.cli.output import table
from milepost.errors import ConfigError, MilepostError, NotReachableError

if TYPE_CHECKING:
    from milepost.config import Config
    from milepost.rest.server.server import Address

Where = Annotated[
    str, typer.Argument(metavar="DIR|FILE", help="A checkpoint directory, or a pipeline's YAML file.")
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port", min=0, max=65535, help="Port on loopback. Default: the first free one from 8081 on."
    ),
]


def history(where: Where, port: Port = None, settings: Settings = None, as_json: Json = False) -> None:
    """Open the dashboard of a checkpoint directory, whether or not its job still runs; needs no Spark.

    The dashboard is read-only. Ctrl-C stops the server.
    """
    from milepost.config import Rest  # pydantic is slow to import, as are FastAPI and uvicorn
    from milepost.rest.server.server import Listener, serve_stored_view
    from milepost.rest.view.stored_view import open_stored_view

    target = resolve(where, settings or ())
    served = open_stored_view(target.store, config_of(target))
    rest = None if port is None else Rest(bind=f"127.0.0.1:{port}")
    with _interrupted() as interrupted, Listener.open(rest) as listener, ExitStack() as stack:
        address = stack.enter_context(serve_stored_view(listener, served))
        token_file = None
        if as_json or not sys.stdout.isatty():
            token_file = stack.enter_context(_token_file(address.token))
        job_id, state = served.job.job_id, served.job.status.value
        if as_json:
            document = {"job-id": job_id, "state": state, "address": address.url}
            table.print_json(document | {"token-file": str(token_file)})
        else:
            first = f"Job {served.config.name}, id {job_id}: {state}."
            table.print_lines(
                [first, *address_lines(address, token_file), "Read-only. Ctrl-C stops the server."]
            )
        interrupted.wait()


def address_lines(address: Address, token_file: Path | None) -> list[str]:
    """Return how the dashboard is reached; the token is in the link unless it is in a file."""
    if token_file is None:
        return [f"History: {address.link}"]
    return [f"History: {address.url}", f"Token: in {token_file}"]


@contextmanager
def _token_file(token: str) -> Iterator[Path]:
    """Keep the token in a file that only this user can read, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="milepost-history-") as folder:
        path = Path(folder) / "token"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token)
        yield path


@contextmanager
def _interrupted() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set."""
    event = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, lambda *_: event.set()) for number in numbers}
    try:
        yield event
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def config_of(target: Target) -> Config:
    """Return the configuration of the job: from the given file, or as the job stored it in the directory."""
    if target.kind is Kind.SAVEPOINT:
        raise NotReachableError(
            f"{target.directory} is a savepoint, which has no history", fix="Give a checkpoint directory"
        )
    if target.config is not None:
        return target.config
    from milepost.config import parse_config

    kept = History(target.store).settings()
    if kept is None:
        raise _unknown_settings(target, "the directory does not contain them: an earlier version wrote it")
    try:
        return parse_config(_relocate(kept, target.directory))
    except ConfigError as error:
        raise _unknown_settings(target, f"the stored settings cannot be read: {error}") from error


def _relocate(kept: dict[str, Any], directory: str) -> dict[str, Any]:
    """Return the settings with the directory as it is now, without the `rest` section of the job."""
    checkpointing = kept.get("checkpointing") or {}
    if "://" not in directory:
        directory = str(Path(directory).absolute())
    return {key: value for key, value in kept.items() if key != "rest"} | {
        "checkpointing": {**checkpointing, "dir": directory}
    }


def _unknown_settings(target: Target, why: str) -> MilepostError:
    return NotReachableError(
        f"The settings of the job in {target.directory} are unknown",
        why=why,
        fix="Give the pipeline's FILE instead of its directory",
    )
