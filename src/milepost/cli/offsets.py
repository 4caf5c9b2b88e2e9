"""`milepost offsets`: checkpoint, group and broker side by side, and how long the checkpoint can be restored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.cli import table
from milepost.cli.checkpoint import Json, Settings
from milepost.cli.target import JobArgument, resolve
from milepost.inspect.retention import shortest
from milepost.inspect.stored import Stored

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

_HEADINGS = ("topic", "part", "checkpoint", "group", "drift", "earliest", "latest", "lag", "restorable")


def offsets(
    job: JobArgument,
    at: At = None,
    check: Check = False,
    timeout: Timeout = 10.0,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show per partition of JOB: checkpoint, group, earliest, latest, lag, drift, and how long it is restorable.

    Kafka is asked where JOB is a pipeline's FILE; a directory alone knows no broker.
    """
    from milepost.inspect import offsets as inspected  # librdkafka, and the configuration

    target = resolve(job, settings or ())
    stored = Stored(target.store)
    known = stored.newest() if at is None else stored.require(int(at)) if at.isdecimal() else None
    checkpoint = (known or Stored(resolve(str(at)).store).newest()).checkpoint
    if target.config is None:
        partitions = inspected.of_checkpoint(checkpoint)
    else:
        now = int(time.time() * 1000)
        partitions = inspected.compare(target.config, checkpoint, timeout=timeout, now_ms=now)
    if as_json:
        table.print_json(_document(checkpoint, partitions))
    else:
        table.print_lines(offsets_lines(checkpoint, partitions, is_asked=target.config is not None))
    if check and inspected.lost(partitions):
        raise typer.Exit(UNRESTORABLE)


def offsets_lines(
    checkpoint: CompletedCheckpoint, partitions: Sequence[PartitionOffsets], *, is_asked: bool
) -> list[str]:
    """Return the table as a person reads it, and what follows from it."""
    lines = [
        f"Checkpoint {checkpoint.checkpoint_id}, completed {table.moment(checkpoint.completed_at)} UTC",
        "",
    ]
    lines += table.aligned(_HEADINGS, [_cells(each) for each in partitions], left=("topic", "restorable"))
    if not is_asked:
        return [*lines, "", "Name the pipeline's FILE in place of the directory to compare it with Kafka."]
    return [*lines, "", *_conclusion(partitions)]


def _conclusion(partitions: Sequence[PartitionOffsets]) -> list[str]:
    gone = [each for each in partitions if each.verdict.is_lost]
    if gone:
        named = ", ".join(f"{each.topic}-{each.partition}: {each.verdict.note}" for each in gone[:5])
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        return [f"UNRESTORABLE: {named}{more}."]
    left = shortest([each.verdict for each in partitions])
    lines = ["Restorable; no time limits it."]
    if left is not None:
        lines = [
            f"Restorable for {table.duration(left)} more, at least: Kafka deletes whole segments,",
            "so records may stay longer than their topic's retention.ms.",
        ]
    ahead = [each for each in partitions if (each.drift or 0) > 0]
    if ahead:
        lines.append("The group is ahead of the checkpoint: somebody else commits to it.")
    return lines


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


def _document(checkpoint: CompletedCheckpoint, partitions: Sequence[PartitionOffsets]) -> dict[str, Any]:
    return {
        "checkpoint": checkpoint.checkpoint_id,
        "restorable": not any(each.verdict.is_lost for each in partitions),
        "left-ms": shortest([each.verdict for each in partitions]),
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "checkpoint": each.checkpoint,
                "group": each.group,
                "drift": each.drift,
                "earliest": each.earliest,
                "latest": each.latest,
                "lag": each.lag,
                "standing": each.verdict.standing.name,
                "left-ms": each.verdict.left_ms,
                "note": each.verdict.note,
            }
            for each in partitions
        ],
    }
