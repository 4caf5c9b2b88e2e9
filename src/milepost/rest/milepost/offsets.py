"""`/milepost/jobs/:jobid/offsets`: checkpoint, group and broker side by side, as the broker said a moment ago."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.inspect.offsets import PartitionOffsets, Stale, of_checkpoint
from milepost.inspect.retention import Standing as Word
from milepost.inspect.retention import Verdict, shortest_time_left
from milepost.rest.flink.vertices_body import milliseconds
from milepost.rest.view.background_query import Answer
from milepost.rest.view.monitor import Standing


def offsets(answer: Answer[Standing], newest: CompletedCheckpoint | None, now: datetime) -> dict[str, Any]:
    """Return what the broker said last, and how old that is; until then what the checkpoint alone says."""
    checkpoint, partitions = answer.result or (newest, of_checkpoint(newest) if newest else [])
    at = answer.at
    return {
        "checkpoint": None if checkpoint is None else checkpoint.checkpoint_id,
        "newest-checkpoint": None if newest is None else newest.checkpoint_id,
        "asked-at": None if at is None else milliseconds(at),
        "age-ms": None if at is None else max(milliseconds(now) - milliseconds(at), 0),
        "asking": answer.is_asking,
        "error": answer.error,
        "restorable": _restorable(partitions),
        "left-ms": shortest_time_left([each.verdict for each in partitions]),
        "partitions": [partition(each) for each in partitions],
    }


def partition(each: PartitionOffsets) -> dict[str, Any]:
    """Return one partition."""
    return {
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
        "stale": {"checkpoint": each.stale.checkpoint, "group": each.stale.group},
    }


def partition_of(document: Mapping[str, Any]) -> PartitionOffsets:
    """Return what an answer says of one partition; the other side of `partition`."""
    return PartitionOffsets(
        topic=document["topic"],
        partition=document["partition"],
        checkpoint=document["checkpoint"],
        group=document["group"],
        earliest=document["earliest"],
        latest=document["latest"],
        verdict=Verdict(Word[document["standing"]], document["left-ms"], document["note"]),
        stale=Stale(**document.get("stale", {})),
    )


def _restorable(partitions: Sequence[PartitionOffsets]) -> bool | None:
    """Return whether a restore would find every record; None where the broker was not asked."""
    if not partitions or any(each.verdict.standing is Word.UNKNOWN for each in partitions):
        return None
    return not any(each.verdict.is_lost for each in partitions)
