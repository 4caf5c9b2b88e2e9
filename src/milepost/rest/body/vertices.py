"""A job's vertices: who acknowledges a checkpoint, grouped as Flink groups subtasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from milepost.checkpoint.model import (
    Acknowledgement,
    CompletedCheckpoint,
    FailedCheckpoint,
    PendingCheckpoint,
)
from milepost.checkpoint.stats import Ended

WRITER = "writer"
STATE = "state"


def milliseconds(moment: datetime) -> int:
    """Return a time as Flink writes it."""
    return round(moment.timestamp() * 1000)


def vertex_id(name: str) -> str:
    """Return the id of a vertex: the same for a name in every run."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def place_of(participant: str) -> tuple[str, int]:
    """Return the vertex that a participant of a checkpoint belongs to, and its index there."""
    kind, _, rest = participant.partition("/")
    if kind == WRITER and rest.isdigit():
        return "Sink: Writer", int(rest)
    if kind == STATE and rest:
        return f"State: {rest}", 0
    return participant, 0


@dataclass(frozen=True, slots=True)
class Vertex:
    """Participants of one kind, and what they have said; None stands for who has not yet."""

    name: str
    subtasks: Mapping[int, Acknowledgement | None] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id by which it is asked for."""
        return vertex_id(self.name)

    @property
    def acknowledgements(self) -> list[Acknowledgement]:
        """What was said, by index."""
        return [ack for _, ack in sorted(self.subtasks.items()) if ack is not None]


def vertices_of(checkpoint: Ended | PendingCheckpoint) -> list[Vertex]:
    """Return the vertices of a checkpoint; of one that failed nobody is known by name."""
    if isinstance(checkpoint, FailedCheckpoint):
        return []
    if isinstance(checkpoint, CompletedCheckpoint):
        return _grouped({ack.participant: ack for ack in checkpoint.acknowledgements})
    return _grouped({**dict.fromkeys(checkpoint.waiting_for), **checkpoint.acknowledged})


def find_vertex(vertices: Iterable[Vertex], wanted: str) -> Vertex | None:
    """Return the vertex of an id."""
    return next((vertex for vertex in vertices if vertex.id == wanted), None)


def _grouped(said: Mapping[str, Acknowledgement | None]) -> list[Vertex]:
    found: dict[str, dict[int, Acknowledgement | None]] = {}
    for participant in sorted(said):
        name, index = place_of(participant)
        found.setdefault(name, {})[index] = said[participant]
    return [Vertex(name, subtasks) for name, subtasks in found.items()]
