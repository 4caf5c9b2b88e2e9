"""`milepost list|status|cancel|stop`: running jobs, over REST."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Annotated, Any

import typer

from milepost.cli.argument.arguments import Json
from milepost.cli.argument.running_job import (
    JobConnection,
    JobName,
    SavepointDir,
    TokenFile,
    client_of,
    connect,
    savepoint_directory,
    take_savepoint,
)
from milepost.cli.output import table
from milepost.errors import MilepostError, NotReachableError
from milepost.job import registry
from milepost.job.monitoring.progress import NO_CHANGE

_HEADINGS = ("name", "id", "state", "since (UTC)", "checkpoint", "address")
_ENDED = ("FINISHED", "CANCELED", "FAILED")
_POLL = 0.2
_CANCEL_TIMEOUT = 600.0


def list_jobs(as_json: Json = False) -> None:
    """List your running jobs on this machine."""
    documents = [document for entry in registry.entries() if (document := _job_document(entry)) is not None]
    if as_json:
        table.print_json({"jobs": documents})
        return
    table.print_lines(list_lines(documents))


def list_lines(documents: list[dict[str, Any]]) -> list[str]:
    """Return the list as text."""
    if not documents:
        return ["No running jobs."]
    rows = [
        (
            each["name"],
            each["id"],
            each["state"],
            table.moment(_utc_time(each["start-time"])),
            table.number(each["checkpoint-id"]),
            each["address"],
        )
        for each in documents
    ]
    return table.align_columns(_HEADINGS, rows, left=("name", "id", "state", "since (UTC)", "address"))


def status(job: JobName, as_json: Json = False, token_file: TokenFile = None) -> None:
    """Show the status of JOB: state, restarts, checkpoints, rows and offsets."""
    document = _status_document(connect(job, token_file))
    if as_json:
        table.print_json(document)
        return
    table.print_lines(status_lines(document))


def status_lines(document: dict[str, Any]) -> list[str]:
    """Return the status as text."""
    counts = document["checkpoints"]
    late = document["late"]
    lines = [
        f"Job {document['name']} is {document['state']}, id {document['id']}.",
        f"  started:      {table.moment(_utc_time(document['start-time']))} UTC, {document['restarts']} restarts",
        f"  checkpoints:  {counts['completed']:,} completed, {counts['failed']:,} failed, "
        f"{counts['in-progress']:,} in progress; newest {_or_none_yet(document['checkpoint-id'])}",
        f"  this run:     {counts['completed-in-this-run']:,} completed, {counts['failed-in-this-run']:,} failed; "
        f"restored from {_restored_from(counts['restored-from'])}",
        f"  rows:         {document['rows']:,}, rejected {_count_rejected(document['rejected']):,}, "
        f"late {sum(late.values()):,}",
    ]
    if any(late.values()) and len(late) > 1:
        each = ", ".join(f"{view} {count:,}" for view, count in late.items())
        lines.append(f"  late:         {each}")
    if document["pending"]:
        pending = document["pending"]
        done, missing = len(pending["acknowledged"]), len(pending["missing"])
        lines.append(f"  in progress:  checkpoint {pending['id']}, acks {done}/{done + missing}")
    rows = [
        (topic, partition, table.number(offset))
        for topic, partitions in sorted(document["offsets"].items())
        for partition, offset in sorted(partitions.items(), key=lambda pair: int(pair[0]))
    ]
    if rows:
        lines += ["", *table.align_columns(("topic", "partition", "next offset"), rows, left=("topic",))]
    return lines


def cancel(job: JobName, as_json: Json = False, token_file: TokenFile = None) -> None:
    """Cancel JOB at its next boundary, without a savepoint; it can resume from its newest checkpoint."""
    from milepost.cli.output.progress import progress_bar  # rich is slow to import

    connection = connect(job, token_file)
    if not as_json:
        table.print_lines([f"Cancelling job {connection.job_id}."])
    connection.client.patch(f"{connection.path}?mode=cancel")
    with progress_bar("Waiting for the running batch to complete …"):
        ended = _wait_for_end(connection)
    if not ended:
        raise NotReachableError(
            f"Job {connection.job_id} is gone and did not report how it ended",
            why="its driver ended before it could be queried",
            fix="Check the driver's output, or the history of its checkpoint directory",
        )
    if ended != "CANCELED":
        raise MilepostError(f"Job {connection.job_id} was not cancelled: it is {ended}")
    if as_json:
        table.print_json({"job-id": connection.job_id, "state": "CANCELED"})
    else:
        table.print_lines([f"Cancelled job {connection.job_id}."])


def stop(
    job: JobName,
    savepoint_dir: SavepointDir = None,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain", help="First emit results that wait for event time to advance; for a final stop."
        ),
    ] = False,
    as_json: Json = False,
    token_file: TokenFile = None,
) -> None:
    """Stop JOB with a savepoint: the running batch completes, then the savepoint is taken, then the job finishes."""
    connection = connect(job, token_file)
    if not as_json:
        table.print_lines([f"Triggering stop-with-savepoint for job {connection.job_id}."])
    with savepoint_directory(connection, savepoint_dir) as directory:
        path = take_savepoint(connection, "stop", {"drain": drain, "targetDirectory": directory})
    if as_json:
        table.print_json({"job-id": connection.job_id, "location": path})
    else:
        table.print_lines([f"Savepoint completed. Path: {path}"])


def _wait_for_end(connection: JobConnection) -> str:
    """Return the state in which the job ended; empty if it is gone before it could report it."""
    deadline = time.monotonic() + _CANCEL_TIMEOUT
    while time.monotonic() < deadline:
        try:
            state = str(connection.client.get(f"{connection.path}/status")["status"])
        except NotReachableError:
            return ""
        if state in _ENDED:
            return state
        time.sleep(_POLL)
    raise MilepostError(
        f"Job {connection.job_id} has not ended within {_CANCEL_TIMEOUT:g} s",
        why="its running batch does not complete",
        fix="Check its log; Ctrl-C twice in its terminal stops it immediately",
    )


def _job_document(entry: registry.Entry) -> dict[str, Any] | None:
    """Return a job as JSON, UNREACHABLE if it does not respond, and None if it has just ended."""
    known = {"name": entry.name, "id": entry.job_id, "address": entry.address, "directory": entry.directory}
    unreachable = {"state": "UNREACHABLE", "start-time": None, "checkpoint-id": None}
    try:
        client = client_of(entry)
        job = client.get("/jobs/overview")["jobs"][0]
        progress = client.get(f"/milepost/jobs/{entry.job_id}/progress")
    except MilepostError:
        return {**known, **unreachable} if registry.find(entry.job_id) else None
    return known | {
        "state": job["state"],
        "start-time": job["start-time"],
        "checkpoint-id": progress["checkpoint-id"],
    }


def _status_document(connection: JobConnection) -> dict[str, Any]:
    client, path = connection.client, connection.path
    job = client.get("/jobs/overview")["jobs"][0]
    progress = client.get(f"/milepost{path}/progress")
    pending = client.get(f"/milepost{path}/checkpoints/pending")["pending"]
    return {
        "name": job["name"],
        "id": connection.job_id,
        "state": job["state"],
        "start-time": job["start-time"],
        "restarts": progress["restarts"],
        "checkpoint-id": progress["checkpoint-id"],
        "checkpoints": progress["checkpoints"],
        "pending": pending,
        "rows": progress["rows"],
        "rejected": progress["rejected"],
        "late": progress["late"],
        "offsets": progress["offsets"],
    }


def _utc_time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def _count_rejected(reasons: dict[str, int]) -> int:
    return sum(count for reason, count in reasons.items() if reason != NO_CHANGE)


def _restored_from(checkpoint_id: int | None) -> str:
    return "none" if checkpoint_id is None else f"checkpoint {checkpoint_id}"


def _or_none_yet(value: object) -> str:
    return "none yet" if value is None else str(value)
