"""Resolves a JOB argument to a directory whose checkpoints can be read, whether or not the job is running.

Nothing is locked or written: the directory of a running job is read beside its driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.checkpoint.savepoint.manifest import METADATA
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.cli.argument import completion
from milepost.errors import NotReachableError
from milepost.job import registry

if TYPE_CHECKING:
    from milepost.config import Config

JobArgument = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="Name, id or address of a running job, a pipeline's YAML file, a checkpoint directory, or a savepoint.",
        autocompletion=completion.jobs,
    ),
]

_FILES = (".yaml", ".yml")
_JOB_FILES = (names.OURS, names.OFFSETS, names.COMMITS, names.METADATA)


class Kind(Enum):
    """The kind of a directory."""

    CHECKPOINTS = "checkpoint directory"
    SAVEPOINT = "savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A directory that can be read, and the pipeline if its file was given."""

    directory: str
    """A path or a URI, as Spark and fsspec accept it."""
    store: Store
    kind: Kind
    config: Config | None = None


def resolve(job: str, settings: Sequence[str] = ()) -> Target:
    """Return the directory of JOB; `settings` override keys of a pipeline's file, as `--set` does."""
    if job.endswith(_FILES) or Path(job).is_file():
        from milepost.config import load_config  # slow to import, and not needed for a directory

        config = load_config(job, settings)
        return _open_target(
            config.checkpointing.dir, f"the checkpoint directory of job {config.name!r}", config
        )
    running = registry.find(job)
    if running is not None:
        return _open_target(running.directory, f"the checkpoint directory of job {running.name!r}")
    return _open_target(job, "a job, a pipeline's file or a directory")


def _open_target(directory: str, what: str, config: Config | None = None) -> Target:
    store = Store.at(directory)
    try:
        present = {entry.name for entry in store.entries("")}
    except OSError as error:
        raise NotReachableError(
            f"{directory} cannot be read", why=str(error), fix="Check the path and its permissions"
        ) from error
    if METADATA in present:
        return Target(directory=directory, store=store, kind=Kind.SAVEPOINT, config=config)
    if not present.intersection(_JOB_FILES):
        why = "it contains no files of a job" if present else "it is empty or does not exist"
        fix = "Run the job first" if config else "Give a pipeline's YAML file or its checkpoint directory"
        raise NotReachableError(f"{directory} is not {what}", why=why, fix=fix)
    return Target(directory=directory, store=store, kind=Kind.CHECKPOINTS, config=config)
