"""Decides from the registry which jobs may write a table, and above which versions a job must start. Pure.

The registry is the table `milepost:writers` (docs/hbase.md), which all jobs of the cluster share: a checkpoint
directory has no information about other directories, and a cell does not identify its writer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from milepost.checkpoint.versions.versions import (
    Eras,
    Versions,
    checked_eras,
    continued,
    generation_of,
)
from milepost.errors import PreflightError

FORMAT = 1
TABLE = "milepost:writers"
NUMBERED = ("offset", "checkpoint")
"""Versions that are numbers with a generation prefix; all others are timestamps or user-defined numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A job that writes a table."""

    name: str
    directory: str
    job_id: str
    since: str
    columns: Mapping[str, tuple[str, ...]]
    delete: str
    version: str
    guard: str = "none"
    """With `cas` a guard cell holds the version, and cells carry the time of the write."""
    is_shared: bool = False
    generation: int = 0
    """The generation, if versions are checkpoint ids."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    eras: Mapping[str, Eras] = field(default_factory=dict)
    """The version eras of each topic, if versions are offsets."""

    @property
    def key(self) -> str:
        """The name of the entry."""
        return f"{self.name}@{self.directory}"

    @property
    def has_times(self) -> bool:
        """Whether its cells carry timestamps, which are all below generation 1."""
        return self.guard == "cas" or self.version not in NUMBERED

    @property
    def highest_generation(self) -> int:
        """The highest generation of its versions."""
        if self.version == "checkpoint":
            return self.generation
        return max(map(generation_of, self.eras.values()), default=0)

    @property
    def lowest_generation(self) -> int:
        """The lowest generation that it currently writes."""
        if self.version == "checkpoint":
            return self.generation
        return min(map(generation_of, self.eras.values()), default=0)

    def is_pipeline(self, other: Writer) -> bool:
        """Return whether both are the same pipeline, possibly with another checkpoint directory."""
        if self.name != other.name:
            return False
        return self.directory == other.directory or bool(self.topic_ids.keys() & other.topic_ids.keys())

    def overlaps(self, other: Writer) -> bool:
        """Return whether both change the same cells; deleting a row affects all columns of its families."""
        families = self.columns.keys() & other.columns.keys()
        if "row" in (self.delete, other.delete) or "cas" in (self.guard, other.guard):
            return bool(families)
        return any(set(self.columns[family]) & set(other.columns[family]) for family in families)

    def document(self) -> str:
        """Return the entry as stored in the registry."""
        return json.dumps(
            {
                "format": FORMAT,
                "name": self.name,
                "dir": self.directory,
                "job-id": self.job_id,
                "since": self.since,
                "columns": {family: list(columns) for family, columns in sorted(self.columns.items())},
                "delete": self.delete,
                "version": self.version,
                "guard": self.guard,
                "shared": self.is_shared,
                "generation": self.generation,
                "topics": dict(sorted(self.topic_ids.items())),
                "eras": dict(sorted(self.eras.items())),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The entries of the registry for one table."""

    revision: str | None = None
    writers: tuple[Writer, ...] = ()
    checkpoints: Mapping[str, int] = field(default_factory=dict)
    """The newest sealed checkpoint, by the key of its writer."""
    refusal: str | None = None
    """Why HBase denies this user access to the registry; None if it does not."""


def parse_registry(document: Mapping[str, Any] | None) -> Registry:
    """Parse the answer of the engine; refuses an entry that is damaged or has an unknown format."""
    if document is None:
        return Registry()
    if "error" in document:
        return Registry(refusal=document["error"])
    return Registry(
        revision=document.get("revision"),
        writers=tuple(_parse_writer(key, text) for key, text in document["writers"].items()),
        checkpoints=document["checkpoints"],
    )


def continued_versions(versions: Versions, before: Iterable[Writer], *, is_known: bool) -> Versions:
    """Return versions with the eras from the registry if the checkpoint directory does not have them."""
    topics = dict(versions.topics)
    for writer in before:
        for name in topics.keys() & writer.eras.keys():
            topics[name] = continued(topics[name], writer.eras[name], is_known=is_known) or topics[name]
    return replace(versions, topics=topics)


def predecessors(registry: Registry, writer: Writer) -> tuple[Writer, ...]:
    """Return the entries of the same pipeline, including those of other checkpoint directories."""
    return tuple(each for each in registry.writers if each.is_pipeline(writer))


def other_writers(registry: Registry, writer: Writer) -> tuple[Writer, ...]:
    """Return the other pipelines that change the same cells."""
    return tuple(each for each in registry.writers if not each.is_pipeline(writer) and each.overlaps(writer))


def require_no_conflict(table: str, writer: Writer, others: Iterable[Writer]) -> None:
    """Refuse a table that another pipeline writes, unless one of the two declares it as shared."""
    other = next((each for each in others if not (each.is_shared or writer.is_shared)), None)
    if other is None:
        return
    common = ", ".join(sorted(other.columns.keys() & writer.columns.keys()))
    raise PreflightError(
        f"Table {table!r} is written by pipeline {other.name!r}: both write column family {common}",
        why=f"pipeline {other.name!r} (checkpoints in {other.directory}, since {other.since}) assigns its own "
        "versions, so the cells of one pipeline would silently hide those of the other",
        fix="Write to another table or to other columns (with sink.hbase.delete: columns within one family). "
        f"If pipeline {other.name!r} no longer writes this table, run once with --claim-table. If both should write "
        "it, set sink.hbase.shared: true",
    )


def sharing_warnings(table: str, writer: Writer, others: Iterable[Writer]) -> Iterator[str]:
    """Yield which value wins if several pipelines write the same cells."""
    for other in others:
        rule = (
            "the higher version wins, and offsets or checkpoint ids of different pipelines do not define which is "
            "newer. With version: timestamp in both, the later record wins"
            if {writer.version, other.version} & set(NUMBERED)
            else "the later version wins"
        )
        yield f"Table {table!r} is shared with pipeline {other.name!r}: if both write the same cell, {rule}."


def generation_above(
    writer: Writer, newest_batch: int, before: Sequence[Writer], registry: Registry
) -> int | None:
    """Return the generation that a job must start with; None if no existing version is above its own.

    `newest_batch` is the newest batch in its checkpoint directory, -1 if there is none.
    """
    if not any(_is_behind(writer, newest_batch, each, registry) for each in before):
        return None
    return max(each.highest_generation for each in before) + 1


def require_times_visible(table: str, writer: Writer, highest_generation: int) -> None:
    """Refuse timestamps as versions if the table has cells above every timestamp."""
    is_time = writer.guard == "cas" or writer.version in ("timestamp", "server-time")
    if is_time and highest_generation > 0:
        raise PreflightError(
            f"Table {table!r} has cells that hide every version of this job",
            why=f"they were written in generation {highest_generation} of numbered versions, which is above every "
            "timestamp, and the cells of this job carry timestamps",
            fix="Use version: offset or checkpoint without a guard, which start above them, or write to another table",
        )


def _is_behind(writer: Writer, newest_batch: int, other: Writer, registry: Registry) -> bool:
    """Return whether cells of the other writer would hide new cells of this job."""
    is_same_kind = writer.version == other.version and writer.guard == other.guard
    if writer.version == "checkpoint":
        if not is_same_kind:
            return writer.generation <= _ceiling(other)
        newest = registry.checkpoints.get(other.key, -1)
        return (writer.generation, newest_batch) < (other.generation, newest)
    if not is_same_kind:
        return any(generation_of(eras) <= _ceiling(other) for eras in writer.eras.values())
    still_read = other.topic_ids.keys() & writer.topic_ids.keys()
    return any(_is_topic_behind(eras, other.eras.get(name), still_read) for name, eras in writer.eras.items())


def _ceiling(other: Writer) -> int:
    """Return the highest generation of a writer with another kind of version."""
    return 0 if other.has_times else other.highest_generation


def _is_topic_behind(eras: Eras, before: Eras | None, still_read: Iterable[str]) -> bool:
    if before is None:
        # A topic that is added to the others has no order with them; a topic that replaces them must start above.
        return not still_read
    if eras["eras"][: len(before["eras"])] == before["eras"] and eras["id"] == before["id"]:
        return False
    return generation_of(eras) <= generation_of(before)


def _parse_writer(key: str, text: str) -> Writer:
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and this release reads {FORMAT}")
        return Writer(
            name=document["name"],
            directory=document["dir"],
            job_id=document["job-id"],
            since=document["since"],
            columns={family: tuple(columns) for family, columns in document["columns"].items()},
            delete=document["delete"],
            version=document["version"],
            guard=document["guard"],
            is_shared=document["shared"],
            generation=int(document["generation"]),
            topic_ids=dict(document["topics"]),
            eras={name: checked_eras(eras) for name, eras in document["eras"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PreflightError(
            f"The entry {key!r} in HBase table {TABLE!r} cannot be read",
            why=f"it has no {error}" if isinstance(error, KeyError) else str(error),
            fix="Use a release that knows this format. Delete the entry only if no job of that name writes the table",
        ) from error
