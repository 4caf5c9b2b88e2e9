"""`milepost offsets`: checkpoint, group and broker side by side, and how long the checkpoint can be restored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from milepost.cli.argument.arguments import Json, Settings
from milepost.cli.argument.checkpoint_place import JobArgument, resolve
from milepost.cli.argument.running_job import Reached, reach
from milepost.cli.output import table
from milepost.errors import NotReachableError
from milepost.inspect.checkpoint_details import StoredCheckpoints
from milepost.inspect.retention import shortest_time_left
from milepost.job import registry
from milepost.rest.client import split_address

if TYPE_CHECKING:
    from milepost.inspect.offsets import PartitionOffsets

UNRESTORABLE = 4

At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="N|SAVEPOINT", help="Another checkpoint than the newest, or a savepoint's directory."
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Exit with 4 where it cannot be restored.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds until a broker does not answer.")]

_POLL = 0.1
_HEADINGS = ("topic", "part", "checkpoint", "group", "drift", "earliest", "latest", "lag", "restorable")


class Seen(NamedTuple):
    """What there is to show."""

    heading: str
    checkpoint_id: int | None
    partitions: Sequence[PartitionOffsets]
    is_asked: bool
    """Whether Kafka was."""


def offsets(
    job: JobArgument,
    at: At = None,
    check: Check = False,
    timeout: Timeout = 10.0,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show per partition of JOB: checkpoint, group, earliest, latest, lag, drift, and how long it is restorable.

    Kafka is asked by the running job, or here where JOB is a pipeline's FILE; a directory alone knows no broker.
    """
    running = running_job(job) if at is None else None
    seen = asked(running, timeout) if running else _looked_up(job, at, timeout, settings or ())
    if as_json:
        table.print_json(_document(seen))
    else:
        table.print_lines(offsets_lines(seen))
    if check and any(each.verdict.is_lost for each in seen.partitions):
        raise typer.Exit(UNRESTORABLE)


def running_job(job: str) -> Reached | None:
    """Return the running job that JOB means; None where it is a file or a directory."""
    if split_address(job) is None and (Path(job).exists() or registry.find(job) is None):
        return None
    return reach(job)


def asked(running: Reached, timeout: float) -> Seen:
    """Return what a running job knows of its newest checkpoint, once the broker has answered it."""
    from milepost.rest.milepost.offsets import partition_of  # librdkafka

    began = time.monotonic()
    while True:
        answer = running.client.get(f"/milepost{running.path}/offsets")
        if _is_answered(answer, time.monotonic() - began):
            break
        if time.monotonic() > began + timeout:
            raise NotReachableError(
                f"Kafka has not answered the job within {timeout:g} s", fix="Try again, or give --timeout"
            )
        time.sleep(_POLL)
    if answer["error"] is not None:
        raise NotReachableError(f"The job could not ask Kafka: {answer['error']}")
    return Seen(
        heading=f"Checkpoint {answer['checkpoint']}, asked {table.duration(answer['age-ms'] or 0)} ago",
        checkpoint_id=answer["checkpoint"],
        partitions=[partition_of(each) for each in answer["partitions"]],
        is_asked=answer["asked-at"] is not None,
    )


def _is_answered(answer: dict[str, Any], waited: float) -> bool:
    """Return whether an answer is of the newest checkpoint, or of the one that was it when this command began."""
    if answer["error"] is not None and not answer["asking"]:
        return True
    if answer["asked-at"] is not None and answer["age-ms"] <= waited * 1000:
        return True
    return not answer["asking"] and answer["checkpoint"] == answer["newest-checkpoint"]


def _looked_up(job: str, at: str | None, timeout: float, settings: Sequence[str]) -> Seen:
    from milepost.inspect import offsets as inspected  # librdkafka, and the configuration

    target = resolve(job, settings)
    stored = StoredCheckpoints(target.store)
    known = stored.newest() if at is None else stored.require(int(at)) if at.isdecimal() else None
    checkpoint = (known or StoredCheckpoints(resolve(str(at)).store).newest()).checkpoint
    if target.config is None:
        partitions = inspected.of_checkpoint(checkpoint)
    else:
        now = int(time.time() * 1000)
        partitions = inspected.compare(target.config, checkpoint, timeout=timeout, now_ms=now)
    return Seen(
        heading=f"Checkpoint {checkpoint.checkpoint_id}, completed {table.moment(checkpoint.completed_at)} UTC",
        checkpoint_id=checkpoint.checkpoint_id,
        partitions=partitions,
        is_asked=target.config is not None,
    )


def offsets_lines(seen: Seen) -> list[str]:
    """Return the table as a person reads it, and what follows from it."""
    cells = [_cells(each) for each in seen.partitions]
    lines = [seen.heading, "", *table.aligned(_HEADINGS, cells, left=("topic", "restorable"))]
    if not seen.is_asked:
        return [*lines, "", "Name the pipeline's FILE in place of the directory to compare it with Kafka."]
    return [*lines, "", *_conclusion(seen.partitions)]


def _conclusion(partitions: Sequence[PartitionOffsets]) -> list[str]:
    gone = [each for each in partitions if each.verdict.is_lost]
    if gone:
        named = ", ".join(f"{each.topic}-{each.partition}: {each.verdict.note}" for each in gone[:5])
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        return [f"UNRESTORABLE: {named}{more}.", *_stale_groups(partitions)]
    left = shortest_time_left([each.verdict for each in partitions])
    lines = ["Restorable; no time limits it."]
    if left is not None:
        lines = [
            f"Restorable for {table.duration(left)} more, at least: Kafka deletes whole segments,",
            "so records may stay longer than their topic's retention.ms.",
        ]
    ahead = [each for each in partitions if (each.drift or 0) > 0]
    if ahead:
        lines.append("The group is ahead of the checkpoint: somebody else commits to it.")
    return [*lines, *_stale_groups(partitions)]


def _stale_groups(partitions: Sequence[PartitionOffsets]) -> list[str]:
    stale = [f"{each.topic}-{each.partition}" for each in partitions if each.stale.group]
    if not stale:
        return []
    more = f" and {len(stale) - 5} more" if len(stale) > 5 else ""
    return [
        f"The group's offset belongs to a deleted topic of the same name in {', '.join(stale[:5])}{more}:",
        "a start from group offsets does not use it.",
    ]


def _cells(each: PartitionOffsets) -> tuple[str, ...]:
    numbers = (each.checkpoint, each.group, each.drift, each.earliest, each.latest, each.lag)
    return (each.topic, str(each.partition), *map(table.number, numbers), _restorable(each))


def _restorable(each: PartitionOffsets) -> str:
    verdict = each.verdict
    if verdict.is_lost:
        return "UNRESTORABLE"
    if verdict.standing.name == "UNKNOWN":
        return "-"
    time_left = "no time limit" if verdict.left_ms is None else table.duration(verdict.left_ms)
    return ", ".join(part for part in (time_left, verdict.note) if part)


def _document(seen: Seen) -> dict[str, Any]:
    from milepost.rest.milepost.offsets import partition  # librdkafka

    return {
        "checkpoint": seen.checkpoint_id,
        "restorable": not any(each.verdict.is_lost for each in seen.partitions),
        "left-ms": shortest_time_left([each.verdict for each in seen.partitions]),
        "partitions": [partition(each) for each in seen.partitions],
    }
