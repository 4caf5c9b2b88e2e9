"""The engine's report on a batch: while it runs, and when all its writers have acknowledged. Pure parsing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from milepost.checkpoint.model import Acknowledgement

_WRITER_FACTS = ("rows", "bytes", "flush-ms")
_STATE_FACTS = ("rows", "bytes", "commit-ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealReport:
    """What the engine reports at step 6: every writer and state store has acknowledged."""

    acknowledgements: tuple[Acknowledgement, ...] = ()
    was_admitted: bool = True
    """Whether the gate let the batch through, or Spark began it by itself."""
    was_wanted: bool = True
    """Whether the gate had been opened for it."""
    admitted_at: datetime | None = None
    gate_wait_ms: int = 0
    topic_fault: str | None = None
    """The sentence about a topic that is not the one the job began with."""
    writer_fault: str | None = None
    """The sentence about a sink that another job has taken over."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    """The eras of each topic, where versions are made of offsets."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """The bad records of the batch, by reason."""
    late: Mapping[str, int] = field(default_factory=dict)
    """The records of the batch that operators dropped because they were late, by topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBatch:
    """A running batch: the number of its writers, and which of them have acknowledged."""

    batch_id: int
    tasks: int
    states: tuple[int, ...] = ()
    """The operators of its plan that keep state; they acknowledge with the seal."""
    acknowledgements: tuple[Acknowledgement, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Return the participants of the batch that must acknowledge."""
        writers = (writer_name(number) for number in range(self.tasks))
        return frozenset((*writers, *map(state_name, self.states)))


def parse_report(text: str, now: datetime) -> SealReport:
    """Return the report of step 6."""
    document = json.loads(text)
    admitted_at = document.get("admitted-at") or 0
    return SealReport(
        acknowledgements=(
            *writer_acks(document.get("writers", ()), now),
            *_state_acks(document.get("states", ()), now),
        ),
        was_admitted=document["admitted"],
        was_wanted=document["wanted"],
        admitted_at=datetime.fromtimestamp(admitted_at / 1000, timezone.utc) if admitted_at else None,
        gate_wait_ms=document.get("gate-wait-ms", 0),
        topic_fault=document.get("topic-fault"),
        writer_fault=document.get("writer-fault"),
        topic_ids=document.get("topic-ids", {}),
        versions=document.get("versions", {}),
        rejected=document.get("rejected", {}),
        late=document.get("late", {}),
    )


def writer_acks(writers: Iterable[Mapping[str, Any]], now: datetime) -> list[Acknowledgement]:
    """Return the acknowledgements of writer tasks."""
    return [_ack(writer_name(each["partition"]), each, _WRITER_FACTS, now) for each in writers]


def writer_name(partition: int) -> str:
    """Return the name of a batch's writer."""
    return f"writer/{partition}"


def state_name(operator: int) -> str:
    """Return the name of an operator that keeps state."""
    return f"state/{operator}"


def _state_acks(stores: Iterable[Mapping[str, Any]], now: datetime) -> list[Acknowledgement]:
    return [_ack(state_name(each["operator"]), each, _STATE_FACTS, now) for each in stores]


def _ack(name: str, said: Mapping[str, Any], facts: tuple[str, str, str], now: datetime) -> Acknowledgement:
    rows, size, duration = facts
    return Acknowledgement(
        participant=name,
        at=now,
        rows=int(said.get(rows, 0)),
        bytes=int(said.get(size, 0)),
        duration_ms=int(said.get(duration, 0)),
        details={key: value for key, value in said.items() if key not in facts},
    )
