"""Records how the versions of cells are made, so no later write is hidden by older cells in the table.

`milepost/versions.json` outlives the checkpoints: `--fresh` and `on-cancel: delete` leave the table as it is too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from milepost.checkpoint.recovery.damage import fault_of
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

FORMAT = 1

Eras = Mapping[str, Any]
"""The eras of one topic, as docs/protocol.md has them: `id`, `begun` and `eras`."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the broker has it, or as the checkpoint knows it."""

    topic_id: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """How versions are made now."""

    generation: int = 0
    """The high bits of a version that is a checkpoint id."""
    topics: Mapping[str, Eras] = field(default_factory=dict)
    """The eras of each topic, if versions are offsets."""

    def begun(self) -> datetime:
        """Return when the first of the topics was looked at for the first time."""
        first = min((eras["begun"] for eras in self.topics.values()), default=0)
        return datetime.fromtimestamp(first / 1000).astimezone()


def resumed(known: Versions | None, topics: Mapping[str, Topic]) -> Versions:
    """Return the versions of a job that resumes from its directory; known topics are unchanged."""
    known = known or Versions()
    # A job without a record: it is unknown since when the topic has had this number of partitions.
    added = {name: _first(topic, 0, 0) for name, topic in topics.items() if name not in known.topics}
    return replace(known, topics={**known.topics, **added})


def from_scratch(known: Versions | None, topics: Mapping[str, Topic], now: datetime) -> Versions:
    """Return the versions of a job that reads its topics from scratch into a table that it may have written before.

    Records of the same topic get the versions that they had. A topic that was created again counts its offsets from
    0, and a job its checkpoints: both continue above everything that was written.
    """
    if known is None:
        return Versions(topics={name: _first(topic, 0, _milliseconds(now)) for name, topic in topics.items()})
    begun = dict(known.topics)
    for name, topic in topics.items():
        before = known.topics.get(name)
        if before is None or before["id"] != topic.topic_id:
            generation = 0 if before is None else before["eras"][-1]["generation"] + 1
            begun[name] = _first(topic, generation, _milliseconds(now))
    return Versions(generation=known.generation + 1, topics=begun)


def above(topics: Mapping[str, Topic], generation: int, begun_ms: int) -> Versions:
    """Return the versions of a job whose table holds cells of another writer, all below a generation."""
    return Versions(
        generation=generation,
        topics={name: _first(topic, generation, begun_ms) for name, topic in topics.items()},
    )


def restored(
    saved: Versions | None, here: Versions | None, topics: Mapping[str, Topic], boundary: Mapping[str, Any]
) -> Versions:
    """Return the versions of a job that is restored from a savepoint into a table that was written since.

    Records keep their versions. Checkpoints are counted again from the savepoint's, so they get a new generation.
    `topics` are the current ones, `boundary` has the offsets of the savepoint.
    """
    saved, here = saved or Versions(), here or Versions()
    begun = {}
    for name, topic in topics.items():
        eras = saved.topics.get(name) or _first(topic, 0, 0)
        known = here.topics.get(name, {"id": None, "eras": []})
        begun[name] = (
            known
            if known["id"] == eras["id"] and known["eras"][: len(eras["eras"])] == eras["eras"]
            else _above(eras, topic.partitions, boundary.get(name, {}))
        )
    return Versions(generation=max(saved.generation, here.generation) + 1, topics=begun)


def continued(mine: Eras, recorded: Eras, *, is_known: bool) -> Eras | None:
    """Return the eras of a topic that follow from two memories of it; None where they contradict each other.

    A memory that is only older than the other one is a beginning of it. `is_known` is false where `mine` is a guess.
    """
    if mine["id"] != recorded["id"]:
        return None
    if not is_known or recorded["eras"][: len(mine["eras"])] == mine["eras"]:
        return recorded
    return mine if mine["eras"][: len(recorded["eras"])] == recorded["eras"] else None


def raised(versions: Versions, generation: int, begins: Mapping[str, Mapping[int, int]]) -> Versions:
    """Return versions that continue in a higher generation from the offsets at which the job begins to read."""
    topics = {name: _raised(eras, generation, begins.get(name, {})) for name, eras in versions.topics.items()}
    return Versions(generation=max(generation, versions.generation), topics=topics)


def _raised(eras: Eras, generation: int, begins: Mapping[int, int]) -> Eras:
    last = eras["eras"][-1]
    # Only the partitions that this era knows: the engine compares them with the broker's to see that a topic has grown.
    offsets = {partition: begins.get(int(partition), offset) for partition, offset in last["from"].items()}
    return {**eras, "eras": [*eras["eras"], {**last, "generation": generation, "from": offsets}]}


def _above(eras: Eras, partitions: int, boundary: Mapping[int, int]) -> Eras:
    """Return eras above all that another job may have begun, if the topic has grown since."""
    last = eras["eras"][-1]
    grown = partitions - len(last["from"])
    if grown <= 0:
        return eras
    # A growth takes two generations, and there were as many as new partitions at most.
    offsets = {str(partition): offset for partition, offset in boundary.items()}
    era = {"generation": last["generation"] + 2 * grown, "order": "offset", "from": offsets}
    return {**eras, "eras": [*eras["eras"], era]}


def record(store: Store, versions: Versions) -> None:
    """Record the versions atomically, unless they are unchanged. The lease must be held."""
    if recorded(store) != versions:
        content = {
            "format": FORMAT,
            "generation": versions.generation,
            "topics": dict(sorted(versions.topics.items())),
        }
        store.replace(names.VERSIONS, json.dumps(content).encode() + b"\n")


def record_topics(store: Store, topics: str) -> None:
    """Record the eras that the engine has begun, given as JSON. The lease must be held."""
    record(store, replace(recorded(store) or Versions(), topics=json.loads(topics)))


def recorded(store: Store) -> Versions | None:
    """Return the recorded versions, or None if there are none; a damaged file is refused."""
    data = b""
    try:
        data = store.read(names.VERSIONS)
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and only {FORMAT} is supported")
        return Versions(
            generation=int(document["generation"]),
            topics={name: checked_eras(eras) for name, eras in document["topics"].items()},
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise PreflightError(
            f"{store.address(names.VERSIONS)} is damaged",
            why=fault_of(error, data),
            fix="Restore it from a copy. Where version is offset it may be removed: the newest checkpoint has one",
        ) from error


def generation_of(eras: Eras) -> int:
    """Return the generation in which a topic is written now."""
    return int(eras["eras"][-1]["generation"])


def checked_eras(eras: Eras) -> Eras:
    """Return the eras of a topic; KeyError, TypeError, ValueError or IndexError where something is missing."""
    str(eras["id"]), int(eras["begun"]), generation_of(eras)
    return eras


def _first(topic: Topic, generation: int, begun: int) -> Eras:
    offsets = {str(partition): 0 for partition in range(topic.partitions)}
    era = {"generation": generation, "order": "offset", "from": offsets}
    return {"id": topic.topic_id, "begun": begun, "eras": [era]}


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
