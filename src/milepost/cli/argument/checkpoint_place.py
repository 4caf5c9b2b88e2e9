"""Resolves a JOB argument into a place whose checkpoints can be read, whether the job runs or is long dead.

Nothing is locked and nothing is written: a running job is read beside its driver.
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
_OF_A_JOB = (names.OURS, names.OFFSETS, names.COMMITS, names.METADATA)


class Kind(Enum):
    """What a directory is."""

    CHECKPOINTS = "checkpoint directory"
    SAVEPOINT = "savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A directory that can be read, and the pipeline where its file was named."""

    directory: str
    """A path or a URI, as Spark and fsspec take it."""
    store: Store
    kind: Kind
    config: Config | None = None


def resolve(job: str, settings: Sequence[str] = ()) -> Target:
    """Return what JOB stands for; `settings` override keys of a pipeline's file, as `--set` does."""
    if job.endswith(_FILES) or Path(job).is_file():
        from milepost.config import load_config  # pydantic is slow, and a directory needs none of it

        config = load_config(job, settings)
        return _found(config.checkpointing.dir, f"the checkpoint directory of job {config.name!r}", config)
    running = registry.find(job)
    if running is not None:
        return _found(running.directory, f"the checkpoint directory of job {running.name!r}")
    return _found(job, "a job, a pipeline's file or a directory")


def _found(directory: str, what: str, config: Config | None = None) -> Target:
    store = Store.at(directory)
    try:
        present = {entry.name for entry in store.entries("")}
    except OSError as error:
        raise NotReachableError(
            f"{directory} cannot be read", why=str(error), fix="Check the path and your rights on it"
        ) from error
    if METADATA in present:
        return Target(directory=directory, store=store, kind=Kind.SAVEPOINT, config=config)
    if not present.intersection(_OF_A_JOB):
        why = "it holds nothing of a job" if present else "it is empty, or not there"
        fix = (
            "Run the job first"
            if config
            else "Name a pipeline's YAML file or the directory of its checkpoints"
        )
        raise NotReachableError(f"{directory} is not {what}", why=why, fix=fix)
    return Target(directory=directory, store=store, kind=Kind.CHECKPOINTS, config=config)
