"""`milepost list|status|cancel|stop`: running jobs, over REST."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Annotated, Any

import typer

from milepost.cli.argument.arguments import Json
from milepost.cli.argument.running_job import (
    JobName,
    Reached,
    SavepointDir,
    TokenFile,
    client_of,
    reach,
    saved,
    savepoint_directory,
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
    documents = [document for entry in registry.entries() if (document := _listed(entry)) is not None]
    if as_json:
        table.print_json({"jobs": documents})
        return
    table.print_lines(list_lines(documents))


def list_lines(documents: list[dict[str, Any]]) -> list[str]:
    """Return the list as a person reads it."""
    if not documents:
        return ["No running jobs."]
    rows = [
        (
            each["name"],
            each["id"],
            each["state"],
            table.moment(_moment(each["start-time"])),
            table.number(each["checkpoint-id"]),
            each["address"],
        )
        for each in documents
    ]
    return table.aligned(_HEADINGS, rows, left=("name", "id", "state", "since (UTC)", "address"))


def status(job: JobName, as_json: Json = False, token_file: TokenFile = None) -> None:
    """Show how JOB does: state, restarts, checkpoints, rows and offsets."""
    document = _status(reach(job, token_file))
    if as_json:
        table.print_json(document)
        return
    table.print_lines(status_lines(document))


def status_lines(document: dict[str, Any]) -> list[str]:
    """Return the status as a person reads it."""
    counts = document["checkpoints"]
    late = document["late"]
    lines = [
        f"Job {document['name']} is {document['state']}, id {document['id']}.",
        f"  started:      {table.moment(_moment(document['start-time']))} UTC, {document['restarts']} restarts",
        f"  checkpoints:  {counts['completed']:,} completed, {counts['failed']:,} failed, "
        f"{counts['in-progress']:,} in progress; newest {_known(document['checkpoint-id'])}",
        f"  this run:     {counts['completed-in-this-run']:,} completed, {counts['failed-in-this-run']:,} failed; "
        f"restored from {_restored(counts['restored-from'])}",
        f"  rows:         {document['rows']:,}, rejected {_rejected(document['rejected']):,}, "
        f"late {sum(late.values()):,}",
    ]
    if any(late.values()) and len(late) > 1:
        each = ", ".join(f"{view} {count:,}" for view, count in late.items())
        lines.append(f"  late:         {each}")
    if document["pending"]:
        pending = document["pending"]
        said, missing = len(pending["acknowledged"]), len(pending["missing"])
        lines.append(f"  in progress:  checkpoint {pending['id']}, acks {said}/{said + missing}")
    rows = [
        (topic, partition, table.number(offset))
        for topic, partitions in sorted(document["offsets"].items())
        for partition, offset in sorted(partitions.items(), key=lambda pair: int(pair[0]))
    ]
    if rows:
        lines += ["", *table.aligned(("topic", "partition", "next offset"), rows, left=("topic",))]
    return lines


def cancel(job: JobName, as_json: Json = False, token_file: TokenFile = None) -> None:
    """Cancel JOB at its next boundary, without a savepoint; it can be started again from its newest checkpoint."""
    from milepost.cli.output.progress import working  # rich is slow to import

    reached = reach(job, token_file)
    if not as_json:
        table.print_lines([f"Cancelling job {reached.job_id}."])
    reached.client.patch(f"{reached.path}?mode=cancel")
    with working("Waiting for the running batch to complete …"):
        ended = _wait_for_end(reached)
    if not ended:
        raise NotReachableError(
            f"Job {reached.job_id} is gone and did not say how it ended",
            why="its driver ended before it could be asked",
            fix="Look at the driver's output, or at the history of its checkpoint directory",
        )
    if ended != "CANCELED":
        raise MilepostError(f"Job {reached.job_id} was not cancelled: it is {ended}")
    if as_json:
        table.print_json({"job-id": reached.job_id, "state": "CANCELED"})
    else:
        table.print_lines([f"Cancelled job {reached.job_id}."])


def stop(
    job: JobName,
    savepoint_dir: SavepointDir = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="Emit first what waits for event time to go on; for a final stop.")
    ] = False,
    as_json: Json = False,
    token_file: TokenFile = None,
) -> None:
    """Stop JOB with a savepoint: the running batch completes, then the savepoint is taken, then the job finishes."""
    reached = reach(job, token_file)
    if not as_json:
        table.print_lines([f"Triggering stop-with-savepoint for job {reached.job_id}."])
    with savepoint_directory(reached, savepoint_dir) as directory:
        path = saved(reached, "stop", {"drain": drain, "targetDirectory": directory})
    if as_json:
        table.print_json({"job-id": reached.job_id, "location": path})
    else:
        table.print_lines([f"Savepoint completed. Path: {path}"])


def _wait_for_end(reached: Reached) -> str:
    """Return the state in which a job ended; empty where it is gone before it could say so."""
    deadline = time.monotonic() + _CANCEL_TIMEOUT
    while time.monotonic() < deadline:
        try:
            state = str(reached.client.get(f"{reached.path}/status")["status"])
        except NotReachableError:
            return ""
        if state in _ENDED:
            return state
        time.sleep(_POLL)
    raise MilepostError(
        f"Job {reached.job_id} has not ended within {_CANCEL_TIMEOUT:g} s",
        why="its running batch does not complete",
        fix="Look at its log; Ctrl-C twice where it runs stops it at once",
    )


def _listed(entry: registry.Entry) -> dict[str, Any] | None:
    """Return a job as it says itself; one that does not answer is shown as such, one that has just ended is not."""
    known = {"name": entry.name, "id": entry.job_id, "address": entry.address, "directory": entry.directory}
    nothing = {"state": "UNREACHABLE", "start-time": None, "checkpoint-id": None}
    try:
        client = client_of(entry)
        job = client.get("/jobs/overview")["jobs"][0]
        progress = client.get(f"/milepost/jobs/{entry.job_id}/progress")
    except MilepostError:
        return {**known, **nothing} if registry.find(entry.job_id) else None
    return known | {
        "state": job["state"],
        "start-time": job["start-time"],
        "checkpoint-id": progress["checkpoint-id"],
    }


def _status(reached: Reached) -> dict[str, Any]:
    client, path = reached.client, reached.path
    job = client.get("/jobs/overview")["jobs"][0]
    progress = client.get(f"/milepost{path}/progress")
    pending = client.get(f"/milepost{path}/checkpoints/pending")["pending"]
    return {
        "name": job["name"],
        "id": reached.job_id,
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


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def _rejected(reasons: dict[str, int]) -> int:
    return sum(count for reason, count in reasons.items() if reason != NO_CHANGE)


def _restored(checkpoint_id: int | None) -> str:
    return "none" if checkpoint_id is None else f"checkpoint {checkpoint_id}"


def _known(value: object) -> str:
    return "none yet" if value is None else str(value)
