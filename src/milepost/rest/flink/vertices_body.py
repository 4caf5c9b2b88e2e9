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
from milepost.checkpoint.stats.counts import Ended

WRITER = "writer"
STATE = "state"
SOURCE = "Source"


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
    """Return the vertices of a checkpoint; of one that failed before names were kept there are none."""
    if isinstance(checkpoint, FailedCheckpoint):
        said = {ack.participant: ack for ack in checkpoint.acknowledgements}
        return _grouped({**dict.fromkeys(checkpoint.missing), **said})
    if isinstance(checkpoint, CompletedCheckpoint):
        return _grouped({ack.participant: ack for ack in checkpoint.acknowledgements})
    return _grouped({**dict.fromkeys(checkpoint.waiting_for), **checkpoint.acknowledged})


def known_vertices(*checkpoints: Ended | PendingCheckpoint | None) -> list[Vertex]:
    """Return everyone who takes part in some checkpoints, each as the first of them has it.

    A checkpoint in flight does not have everyone's word, and until its batch has tasks not everyone's name.
    """
    found: dict[str, Vertex] = {}
    for checkpoint in checkpoints:
        for vertex in vertices_of(checkpoint) if checkpoint else ():
            found.setdefault(vertex.name, vertex)
    return [found[name] for name in sorted(found)]


def complete(
    found: list[Vertex], known: Iterable[Vertex], checkpoint: Ended | PendingCheckpoint
) -> list[Vertex]:
    """Return the vertices of a checkpoint with those of the job that it does not name: Flink has every vertex in each.

    A source has no word of its own. Its boundary is the trigger, and is durable before any writer begins.
    """
    named = {vertex.name for vertex in found}
    is_durable = isinstance(checkpoint, CompletedCheckpoint) or any(each.acknowledgements for each in found)
    boundary = Acknowledgement(participant=SOURCE, at=checkpoint.triggered_at) if is_durable else None
    others = (vertex for vertex in known if vertex.name not in named)
    return [
        *(
            Vertex(vertex.name, dict.fromkeys(vertex.subtasks, boundary if is_source(vertex) else None))
            for vertex in others
        ),
        *found,
    ]


def is_source(vertex: Vertex) -> bool:
    """Return whether a vertex reads."""
    return vertex.name.startswith(f"{SOURCE}: ")


def find_vertex(vertices: Iterable[Vertex], wanted: str) -> Vertex | None:
    """Return the vertex of an id."""
    return next((vertex for vertex in vertices if vertex.id == wanted), None)


def _grouped(said: Mapping[str, Acknowledgement | None]) -> list[Vertex]:
    found: dict[str, dict[int, Acknowledgement | None]] = {}
    for participant in sorted(said):
        name, index = place_of(participant)
        found.setdefault(name, {})[index] = said[participant]
    return [Vertex(name, subtasks) for name, subtasks in found.items()]
