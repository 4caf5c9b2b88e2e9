"""The vertices of a job: participants of checkpoints, grouped as Flink groups subtasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


def vertex_id(name: str) -> str:
    """Return the id of a vertex; a name has the same id in every run."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def find_place(participant: str) -> tuple[str, int]:
    """Return the vertex of a participant, and its index there."""
    kind, _, rest = participant.partition("/")
    if kind == WRITER and rest.isdigit():
        return "Sink: Writer", int(rest)
    if kind == STATE and rest:
        return f"State: {rest}", 0
    return participant, 0


@dataclass(frozen=True, slots=True)
class Vertex:
    """Participants of one kind with their acknowledgements; None stands for one that is outstanding."""

    name: str
    subtasks: Mapping[int, Acknowledgement | None] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The id of the vertex in paths."""
        return vertex_id(self.name)

    @property
    def acknowledgements(self) -> list[Acknowledgement]:
        """The received acknowledgements, by index."""
        return [ack for _, ack in sorted(self.subtasks.items()) if ack is not None]


def group_participants(checkpoint: Ended | PendingCheckpoint) -> list[Vertex]:
    """Return the vertices of a checkpoint; empty for one that failed before participants were recorded."""
    if isinstance(checkpoint, FailedCheckpoint):
        acks = {ack.participant: ack for ack in checkpoint.acknowledgements}
        return _group({**dict.fromkeys(checkpoint.missing), **acks})
    if isinstance(checkpoint, CompletedCheckpoint):
        return _group({ack.participant: ack for ack in checkpoint.acknowledgements})
    return _group({**dict.fromkeys(checkpoint.waiting_for), **checkpoint.acknowledged})


def merge_vertices(*checkpoints: Ended | PendingCheckpoint | None) -> list[Vertex]:
    """Return the vertices of several checkpoints, each from the first checkpoint that has it.

    A checkpoint in flight lacks acknowledgements, and until its batch has tasks it lacks participants.
    """
    found: dict[str, Vertex] = {}
    for checkpoint in checkpoints:
        for vertex in group_participants(checkpoint) if checkpoint else ():
            found.setdefault(vertex.name, vertex)
    return [found[name] for name in sorted(found)]


def add_missing_vertices(
    found: list[Vertex], known: Iterable[Vertex], checkpoint: Ended | PendingCheckpoint
) -> list[Vertex]:
    """Return the vertices of a checkpoint and the other vertices of the job: Flink has every vertex in each.

    A source does not acknowledge. Its boundary is the trigger, and is durable before any writer begins.
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
    """Return whether a vertex is a source."""
    return vertex.name.startswith(f"{SOURCE}: ")


def find_vertex(vertices: Iterable[Vertex], wanted: str) -> Vertex | None:
    """Return a vertex by its id."""
    return next((vertex for vertex in vertices if vertex.id == wanted), None)


def _group(acks: Mapping[str, Acknowledgement | None]) -> list[Vertex]:
    found: dict[str, dict[int, Acknowledgement | None]] = {}
    for participant in sorted(acks):
        name, index = find_place(participant)
        found.setdefault(name, {})[index] = acks[participant]
    return [Vertex(name, subtasks) for name, subtasks in found.items()]
