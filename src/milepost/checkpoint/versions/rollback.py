"""Decides which versions of cells are newer than a boundary, and how versions continue above them. Pure.

A written cell cannot be removed: a delete of exactly its version would also hide the same version of the replay, until
HBase drops the marker (docs/decisions/0013-roll-back.md). So a roll back writes the values at the boundary again, in a
generation of its own, and the job continues in the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from milepost.checkpoint.model import Offsets
from milepost.checkpoint.versions.versions import Versions
from milepost.errors import PreflightError

_OFFSET_BITS = 48
_LAST_GENERATION = (1 << 15) - 1
REPLAY = (
    "Roll back with --keep-table: the checkpoint directory goes back, and what is read again is written over the rows "
    "that are there; with version: offset the table is right again when the job has caught up"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """What a roll back of a table needs to know of versions."""

    generation: int
    """Of the cells that bring old values back."""
    versions: Versions
    """How versions are made afterwards."""
    limit: int | None = None
    """The first version that is newer than the boundary, where it is one for all rows."""
    limits: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The same by topic and partition."""


def by_checkpoint(known: Versions, checkpoint_id: int) -> Rewind:
    """Decide for versions that are checkpoint ids."""
    generation = _free(known.generation)
    return Rewind(
        generation=generation,
        versions=replace(known, generation=generation + 1),
        limit=known.generation << _OFFSET_BITS | (checkpoint_id + 1),
    )


def by_offset(known: Versions, boundary: Offsets) -> Rewind:
    """Decide for versions that are offsets; refuse if a version does not show the side of its record."""
    _require_known(known, boundary)
    newest = (era["generation"] for eras in known.topics.values() for era in eras["eras"])
    generation = _free(max(newest, default=0))
    limits, topics = {}, dict(known.topics)
    for topic, partitions in boundary.items():
        eras = known.topics[topic]["eras"]
        limits[topic] = {p: _limit(topic, eras, p, offset) for p, offset in partitions.items()}
        begun = [_from(eras, partitions, number) for number in (generation, generation + 1)]
        topics[topic] = {**known.topics[topic], "eras": [*eras, *begun]}
    return Rewind(generation=generation, versions=replace(known, topics=topics), limits=limits)


def _limit(topic: str, eras: Sequence[Mapping[str, Any]], partition: int, offset: int) -> int:
    index = max(
        (i for i, era in enumerate(eras) if int(era["from"].get(str(partition), 0)) <= offset), default=0
    )
    if any(era["order"] == "time" for era in eras[index:]):
        raise PreflightError(
            f"Topic {topic!r} had its partitions grown at the boundary or after it",
            why="keys have moved between partitions since, so a version does not show on which side of the "
            "boundary its record is",
            fix=REPLAY,
        )
    return int(eras[index]["generation"]) << _OFFSET_BITS | offset


def _from(eras: Sequence[Mapping[str, Any]], boundary: Mapping[int, int], generation: int) -> dict[str, Any]:
    """Return an era that begins at the boundary."""
    begin = {partition: boundary.get(int(partition), 0) for partition in eras[-1]["from"]}
    return {"generation": generation, "order": "offset", "from": begin}


def _require_known(known: Versions, boundary: Offsets) -> None:
    """Refuse topics and partitions that one of the two does not have."""
    for topic, eras in known.topics.items():
        partitions = {int(partition) for partition in eras["eras"][-1]["from"]}
        if topic in boundary and partitions <= boundary[topic].keys():
            continue
        raise PreflightError(
            f"Topic {topic!r}, or a partition of it, was first read after the boundary",
            why="a version does not contain the partition of its record, so its rows cannot be distinguished",
            fix=REPLAY,
        )
    unknown = [topic for topic in boundary if topic not in known.topics]
    if unknown:
        raise PreflightError(
            f"It is unknown how the versions of topic {unknown[0]!r} were made",
            why="milepost/versions.json does not contain it",
            fix=REPLAY,
        )


def _free(newest: int) -> int:
    if newest + 2 > _LAST_GENERATION:
        raise PreflightError(
            "The versions of the table are used up",
            why=f"a roll back takes two of {_LAST_GENERATION + 1} generations, and {newest} is in use",
            fix="Write into another table",
        )
    return newest + 1
