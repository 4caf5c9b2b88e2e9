"""`milepost checkpoint trigger|list|show|diff`: takes a checkpoint, or inspects existing ones."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.checkpoint.store.identity import recorded_job
from milepost.cli.argument import completion
from milepost.cli.argument.arguments import Json, Settings
from milepost.cli.argument.checkpoint_place import JobArgument, resolve
from milepost.cli.argument.running_job import (
    JobName,
    TokenFile,
    connect,
    wait_for_operation,
)
from milepost.cli.inspect import checkpoint_view as view
from milepost.cli.output.table import print_json, print_lines
from milepost.inspect.checkpoint_details import KnownCheckpoint, StoredCheckpoints
from milepost.inspect.checkpoint_list import find_checkpoints
from milepost.inspect.difference import compare_checkpoints

DEFAULT_LIMIT = 50

app = typer.Typer(
    help="Take a checkpoint of a running job; list, show and compare checkpoints.",
    no_args_is_help=True,
)

Limit = Annotated[int, typer.Option("--limit", min=0, help="Maximum number, newest first; 0 shows all.")]
Number = Annotated[
    int | None,
    typer.Argument(
        metavar="[N]",
        min=0,
        help="Its id. Default: the newest.",
        autocompletion=completion.checkpoints,
    ),
]
Values = Annotated[bool, typer.Option("--values", help="Print the state of participants, not only its size.")]
Side = Annotated[
    str,
    typer.Argument(
        help="The id of a checkpoint, or a savepoint's directory.", autocompletion=completion.checkpoints
    ),
]


@app.command()
def trigger(job: JobName, as_json: Json = False, token_file: TokenFile = None) -> None:
    """Take a checkpoint of the running JOB now, and wait until it is complete."""
    connection = connect(job, token_file)
    if not as_json:
        print_lines([f"Triggering checkpoint for job {connection.job_id}."])
    request = connection.client.post(f"{connection.path}/checkpoints", {})["request-id"]
    operation = f"{connection.path}/checkpoints/{request}"
    taken = wait_for_operation(connection, operation, "Waiting for the checkpoint to complete …")[
        "checkpointId"
    ]
    if as_json:
        print_json({"job-id": connection.job_id, "checkpoint-id": taken})
    else:
        print_lines([f"Checkpoint {taken} for job {connection.job_id} completed."])


@app.command("list")
def list_checkpoints(
    job: JobArgument, limit: Limit = DEFAULT_LIMIT, as_json: Json = False, settings: Settings = None
) -> None:
    """List the newest checkpoints of JOB: completed, failed with the reason, and no longer stored."""
    listing = find_checkpoints(resolve(job, settings or ()).store, limit or None)
    if as_json:
        print_json(view.listing_document(listing))
    else:
        print_lines(view.listing_lines(listing))


@app.command()
def show(
    job: JobArgument,
    number: Number = None,
    values: Values = False,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show all details of one checkpoint of JOB: offsets, acknowledgements, states, extra data, eras, files."""
    stored = StoredCheckpoints(resolve(job, settings or ()).store)
    details = stored.details(stored.newest().checkpoint.checkpoint_id if number is None else number)
    owner = recorded_job(stored.store)
    name = None if owner is None else owner.name
    if as_json:
        print_json(view.details_document(details, name))
    else:
        print_lines(view.details_lines(details, name, with_values=values))


@app.command()
def diff(job: JobArgument, a: Side, b: Side, as_json: Json = False, settings: Settings = None) -> None:
    """Show what changed between the checkpoints A and B of JOB; either may be a savepoint's directory."""
    stored = StoredCheckpoints(resolve(job, settings or ()).store)
    found = compare_checkpoints(_side(stored, a), _side(stored, b), stored.find)
    if as_json:
        print_json(view.difference_document(found))
    else:
        print_lines(view.difference_lines(found))


def _side(stored: StoredCheckpoints, text: str) -> KnownCheckpoint:
    return stored.require(int(text)) if text.isdecimal() else StoredCheckpoints(resolve(text).store).newest()
