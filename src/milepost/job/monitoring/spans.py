"""Converts checkpoints and starts of attempts to spans. Pure: nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from milepost.checkpoint.model import Acknowledgement, CompletedCheckpoint, FailedCheckpoint, Trigger

Attribute = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A named period of time, with Flink's names and attributes where Flink has the span."""

    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    children: tuple[Span, ...] = ()
    error: str | None = None


def of_completed(checkpoint: CompletedCheckpoint) -> Span:
    """Return the span of a completed checkpoint, with one child per participant."""
    acks = checkpoint.acknowledgements
    last = max((ack.at for ack in acks), default=checkpoint.triggered_at)
    number = checkpoint.checkpoint_id
    storing = Span(
        name="Checkpoint_Complete",
        start=min(last, checkpoint.completed_at),
        end=checkpoint.completed_at,
        attributes={"checkpointId": number},
    )
    return Span(
        name="Checkpoint",
        start=checkpoint.triggered_at,
        end=checkpoint.completed_at,
        attributes={
            **_common(number, checkpoint.trigger, "COMPLETED"),
            "checkpointedSize": checkpoint.state_size,
            "fullSize": checkpoint.state_size,
            "rows": checkpoint.rows,
            "epoch": checkpoint.epoch,
        },
        children=(*(_of_ack(ack, number) for ack in acks), storing),
    )


def of_failed(checkpoint: FailedCheckpoint) -> Span:
    """Return the span of a failed checkpoint; its error is the reason."""
    reason = checkpoint.reason
    return Span(
        name="Checkpoint",
        start=checkpoint.triggered_at,
        end=checkpoint.failed_at,
        attributes={
            **_common(checkpoint.checkpoint_id, checkpoint.trigger, "FAILED"),
            "checkpointedSize": 0,
            "fullSize": 0,
            "failureReason": reason.name,
        },
        error=" ".join(part for part in (reason.sentence, checkpoint.detail) if part),
    )


def of_initialization(began: datetime, ended: datetime, restored: CompletedCheckpoint | None) -> Span:
    """Return the span of the start of an attempt."""
    found: dict[str, Attribute] = {"initializationStatus": "COMPLETED"}
    if restored is not None:
        found |= {"checkpointId": restored.checkpoint_id, "fullSize": restored.state_size}
    return Span(name="JobInitialization", start=began, end=ended, attributes=found)


def _common(number: int, trigger: Trigger, status: str) -> dict[str, Attribute]:
    return {
        "checkpointId": number,
        "checkpointStatus": status,
        "checkpointType": "Savepoint" if trigger is Trigger.SAVEPOINT else "Checkpoint",
        "isUnaligned": "false",
        "trigger": trigger.name,
    }


def _of_ack(ack: Acknowledgement, number: int) -> Span:
    """Return the span of a participant, which ends at its acknowledgement."""
    kind, _, rest = ack.participant.partition("/")
    attributes: dict[str, Attribute] = {"checkpointId": number, "participant": ack.participant}
    if kind == "writer" and rest.isdigit():
        attributes["subtaskId"] = int(rest)
    return Span(
        name="Checkpoint_Subtask",
        start=ack.at - timedelta(milliseconds=ack.duration_ms),
        end=ack.at,
        attributes=attributes | {"rows": ack.rows, "bytes": ack.bytes},
    )
