"""The JSON format of the offsets of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from milepost.inspect.offsets import PartitionOffsets, Stale
from milepost.inspect.retention import Standing, Verdict


def partition_to_json(each: PartitionOffsets) -> dict[str, Any]:
    """Return the offsets of one partition as JSON."""
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


def partition_from_json(document: Mapping[str, Any]) -> PartitionOffsets:
    """Return the offsets of one partition from JSON."""
    return PartitionOffsets(
        topic=document["topic"],
        partition=document["partition"],
        checkpoint=document["checkpoint"],
        group=document["group"],
        earliest=document["earliest"],
        latest=document["latest"],
        verdict=Verdict(Standing[document["standing"]], document["left-ms"], document["note"]),
        stale=Stale(**document.get("stale", {})),
    )
