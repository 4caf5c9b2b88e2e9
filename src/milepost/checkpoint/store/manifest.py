"""A completed checkpoint as bytes and back: plain JSON with a format version and a checksum. Pure.

    {"format": 1, "sha256": "…", "checkpoint": {"id": 7, …}}

The checksum is that of the `checkpoint` object alone, written without spaces and with its keys in order.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from milepost.checkpoint.model import (
    Acknowledgement,
    CheckpointId,
    CompletedCheckpoint,
    Offsets,
    Trigger,
    Value,
)
from milepost.checkpoint.recovery.damage import fault_of
from milepost.errors import PreflightError

FORMAT = 1


def to_json(checkpoint: CompletedCheckpoint) -> bytes:
    """Return the manifest; a value that is neither JSON nor bytes raises TypeError or ValueError."""
    text = canonical(checkpoint_to_json(checkpoint))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{{"format": {FORMAT}, "sha256": "{digest}", "checkpoint": {text}}}\n'.encode()


def checkpoint_to_json(checkpoint: CompletedCheckpoint) -> dict[str, Any]:
    """Return the content of a manifest."""
    return {
        "id": checkpoint.checkpoint_id,
        "trigger": checkpoint.trigger.name,
        "triggered-at": checkpoint.triggered_at.isoformat(),
        "completed-at": checkpoint.completed_at.isoformat(),
        "job-id": checkpoint.job_id,
        "epoch": checkpoint.epoch,
        "sources": [offsets_to_json(offsets) for offsets in checkpoint.sources],
        "topic-ids": dict(checkpoint.topic_ids),
        "versions": dict(checkpoint.versions),
        "acknowledgements": [acknowledgement_to_json(ack) for ack in checkpoint.acknowledgements],
        "states": {name: value_to_json(value) for name, value in checkpoint.states.items()},
        "extra": {name: value_to_json(value) for name, value in checkpoint.extra.items()},
        **{key: dict(counts) for key, counts in _counts(checkpoint).items() if counts},
    }


def _counts(checkpoint: CompletedCheckpoint) -> dict[str, Mapping[str, int]]:
    """Return the counts of records; a manifest has those that are not empty."""
    return {
        "rejected-records": checkpoint.rejected,
        "late-records": checkpoint.late,
        "late-records-total": checkpoint.late_total,
    }


def from_json(data: bytes, name: str = "The manifest") -> CompletedCheckpoint:
    """Return the checkpoint of a manifest, or refuse it under the name of its file."""
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and {FORMAT} is the one we know")
        checkpoint = document["checkpoint"]
        if hashlib.sha256(canonical(checkpoint).encode()).hexdigest() != document["sha256"]:
            raise ValueError("its checksum is not that of its content")
        return checkpoint_from_json(checkpoint)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PreflightError(
            f"{name} is damaged",
            why=fault_of(error, data),
            fix="Restore it from a copy, or set checkpointing.on-damage to fall-back",
        ) from error


def value_to_json(value: Value) -> dict[str, Any]:
    """Return a user's value with its kind: bytes are not JSON."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(value).decode("ascii")}
    return {"json": value}


def value_from_json(document: Mapping[str, Any]) -> Value:
    """Return the user's value."""
    if "base64" in document:
        return base64.b64decode(document["base64"], validate=True)
    return document["json"]


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return offsets as Spark writes them too: partitions as texts."""
    return {
        topic: {str(partition): offset for partition, offset in partitions.items()}
        for topic, partitions in offsets.items()
    }


def offsets_from_json(document: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Return the next offset to read, by topic and partition."""
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in document.items()
    }


def acknowledgement_to_json(ack: Acknowledgement) -> dict[str, Any]:
    """Convert one acknowledgement."""
    return {
        "participant": ack.participant,
        "at": ack.at.isoformat(),
        "duration-ms": ack.duration_ms,
        "rows": ack.rows,
        "bytes": ack.bytes,
        "details": dict(ack.details),
    }


def acknowledgement_from_json(document: Mapping[str, Any]) -> Acknowledgement:
    """Convert one acknowledgement."""
    return Acknowledgement(
        participant=document["participant"],
        at=datetime.fromisoformat(document["at"]),
        duration_ms=document["duration-ms"],
        rows=document["rows"],
        bytes=document["bytes"],
        details=document["details"],
    )


def checkpoint_from_json(document: Mapping[str, Any]) -> CompletedCheckpoint:
    """Return the checkpoint in the content of a manifest."""
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(document["id"]),
        trigger=Trigger[document["trigger"]],
        triggered_at=datetime.fromisoformat(document["triggered-at"]),
        completed_at=datetime.fromisoformat(document["completed-at"]),
        job_id=document["job-id"],
        epoch=document["epoch"],
        sources=tuple(offsets_from_json(offsets) for offsets in document["sources"]),
        topic_ids=document["topic-ids"],
        versions=document.get("versions", {}),
        acknowledgements=tuple(acknowledgement_from_json(ack) for ack in document["acknowledgements"]),
        states={name: value_from_json(value) for name, value in document["states"].items()},
        extra={name: value_from_json(value) for name, value in document["extra"].items()},
        rejected=document.get("rejected-records", {}),
        late=document.get("late-records", {}),
        late_total=document.get("late-records-total", {}),
    )


def canonical(document: Any) -> str:
    """Return canonical JSON for the checksum: without spaces, with sorted keys."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
