"""`milepost offsets`: compares the offsets of checkpoint, group and broker, and shows the time left to restore."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from milepost.cli.argument.arguments import Json, Settings
from milepost.cli.argument.checkpoint_place import JobArgument, resolve
from milepost.cli.argument.running_job import JobConnection, connect
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
        "--at",
        metavar="N|SAVEPOINT",
        help="A checkpoint id, or a savepoint's directory. Default: the newest checkpoint.",
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Exit with 4 if the checkpoint cannot be restored.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for a broker.")]

_POLL = 0.1
_HEADINGS = ("topic", "part", "checkpoint", "group", "drift", "earliest", "latest", "lag", "restorable")


class OffsetsReport(NamedTuple):
    """The offsets of one checkpoint, per partition."""

    heading: str
    checkpoint_id: int | None
    partitions: Sequence[PartitionOffsets]
    has_broker_offsets: bool
    """Whether Kafka was asked."""


def offsets(
    job: JobArgument,
    at: At = None,
    check: Check = False,
    timeout: Timeout = 10.0,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Show the offsets of JOB per partition: checkpoint, group, earliest, latest, lag, drift, time left to restore.

    Kafka's offsets come from the running job, or from Kafka if JOB is a pipeline's FILE. A directory has none.
    """
    running = running_job(job) if at is None else None
    report = ask_job(running, timeout) if running else _read_checkpoint(job, at, timeout, settings or ())
    if as_json:
        table.print_json(_document(report))
    else:
        table.print_lines(offsets_lines(report))
    if check and any(each.verdict.is_lost for each in report.partitions):
        raise typer.Exit(UNRESTORABLE)


def running_job(job: str) -> JobConnection | None:
    """Return a connection to the running job JOB; None if JOB is a file or a directory."""
    if split_address(job) is None and (Path(job).exists() or registry.find(job) is None):
        return None
    return connect(job)


def ask_job(running: JobConnection, timeout: float) -> OffsetsReport:
    """Return the offsets of a running job's newest checkpoint, after the broker has answered the job."""
    from milepost.rest.milepost.partition_json import partition_from_json  # librdkafka

    began = time.monotonic()
    while True:
        answer = running.client.get(f"/milepost{running.path}/offsets")
        if _is_answered(answer, time.monotonic() - began):
            break
        if time.monotonic() > began + timeout:
            raise NotReachableError(
                f"Kafka did not answer the job within {timeout:g} s", fix="Try again, or raise --timeout"
            )
        time.sleep(_POLL)
    if answer["error"] is not None:
        raise NotReachableError(f"The job could not query Kafka: {answer['error']}")
    return OffsetsReport(
        heading=f"Checkpoint {answer['checkpoint']}, asked {table.duration(answer['age-ms'] or 0)} ago",
        checkpoint_id=answer["checkpoint"],
        partitions=[partition_from_json(each) for each in answer["partitions"]],
        has_broker_offsets=answer["asked-at"] is not None,
    )


def _is_answered(answer: dict[str, Any], waited: float) -> bool:
    """Return whether the answer is about the checkpoint that is the newest now or was at the start of the command."""
    if answer["error"] is not None and not answer["asking"]:
        return True
    if answer["asked-at"] is not None and answer["age-ms"] <= waited * 1000:
        return True
    return not answer["asking"] and answer["checkpoint"] == answer["newest-checkpoint"]


def _read_checkpoint(job: str, at: str | None, timeout: float, settings: Sequence[str]) -> OffsetsReport:
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
    return OffsetsReport(
        heading=f"Checkpoint {checkpoint.checkpoint_id}, completed {table.moment(checkpoint.completed_at)} UTC",
        checkpoint_id=checkpoint.checkpoint_id,
        partitions=partitions,
        has_broker_offsets=target.config is not None,
    )


def offsets_lines(report: OffsetsReport) -> list[str]:
    """Return the offsets as text, with a conclusion."""
    cells = [_cells(each) for each in report.partitions]
    lines = [report.heading, "", *table.align_columns(_HEADINGS, cells, left=("topic", "restorable"))]
    if not report.has_broker_offsets:
        return [*lines, "", "Give the pipeline's FILE instead of the directory to compare with Kafka."]
    return [*lines, "", *_conclusion(report.partitions)]


def _conclusion(partitions: Sequence[PartitionOffsets]) -> list[str]:
    gone = [each for each in partitions if each.verdict.is_lost]
    if gone:
        named = ", ".join(f"{each.topic}-{each.partition}: {each.verdict.note}" for each in gone[:5])
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        return [f"UNRESTORABLE: {named}{more}.", *_stale_groups(partitions)]
    left = shortest_time_left([each.verdict for each in partitions])
    lines = ["Restorable, without a time limit."]
    if left is not None:
        lines = [
            f"Restorable for at least {table.duration(left)}: Kafka deletes whole segments,",
            "so records may stay longer than retention.ms of their topic.",
        ]
    ahead = [each for each in partitions if (each.drift or 0) > 0]
    if ahead:
        lines.append("The group is ahead of the checkpoint: another client commits to it.")
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


def _document(report: OffsetsReport) -> dict[str, Any]:
    from milepost.rest.milepost.partition_json import partition_to_json  # librdkafka

    return {
        "checkpoint": report.checkpoint_id,
        "restorable": not any(each.verdict.is_lost for each in report.partitions),
        "left-ms": shortest_time_left([each.verdict for each in report.partitions]),
        "partitions": [partition_to_json(each) for each in report.partitions],
    }
