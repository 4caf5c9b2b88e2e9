"""`milepost history`: the dashboard and the REST interface of a job of which only its directory is left."""

from __future__ import annotations

import signal
import threading
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

Where = Annotated[
    str, typer.Argument(metavar="DIR|FILE", help="A checkpoint directory, or a pipeline's YAML file.")
]
Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Port on loopback; the first free one from 8081 on."),
]


def history(where: Where, port: Port = None, settings: Settings = None, as_json: Json = False) -> None:
    """Show what is left of a job in a browser: the dashboard of a directory, without Spark, until Ctrl-C."""
    from milepost.config import Rest  # pydantic is slow to import, as are FastAPI and uvicorn
    from milepost.rest.server.server import Listener, showing
    from milepost.rest.view.stored_view import shown

    target = resolve(where, settings or ())
    served = shown(target.store, config_of(target))
    rest = None if port is None else Rest(bind=f"127.0.0.1:{port}")
    ended = threading.Event()
    previous = {
        number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with Listener.open(rest) as listener, showing(listener, served) as address:
            if as_json:
                table.print_json(
                    {"job-id": served.job.job_id, "state": served.job.status.value, "address": address.link}
                )
            else:
                table.print_lines(
                    [
                        f"Job {served.config.name}, id {served.job.job_id}: {served.job.status.value}.",
                        f"History: {address.link}",
                        "Nothing can be changed there. Ctrl-C ends it.",
                    ]
                )
            ended.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def config_of(target: Target) -> Config:
    """Return the configuration of a directory: that of the file that was named, or what the job kept of it."""
    if target.kind is Kind.SAVEPOINT:
        raise NotReachableError(
            f"{target.directory} is a savepoint, which has no history", fix="Name a checkpoint directory"
        )
    if target.config is not None:
        return target.config
    from milepost.config import parse_config

    kept = History(target.store).settings()
    if kept is None:
        raise _unknown(target, "it does not keep the settings of its job: an earlier version wrote it")
    try:
        return parse_config(_moved(kept, target.directory))
    except ConfigError as error:
        raise _unknown(target, f"what it keeps of them cannot be read: {error}") from error


def _moved(kept: dict[str, Any], directory: str) -> dict[str, Any]:
    """Return settings for a directory as it lies now; who may reach the job is not for those who look later."""
    checkpointing = kept.get("checkpointing") or {}
    if "://" not in directory:
        directory = str(Path(directory).absolute())
    return {key: value for key, value in kept.items() if key != "rest"} | {
        "checkpointing": {**checkpointing, "dir": directory}
    }


def _unknown(target: Target, why: str) -> MilepostError:
    return NotReachableError(
        f"The settings of the job in {target.directory} are not known",
        why=why,
        fix="Name the pipeline's FILE in place of its directory",
    )
