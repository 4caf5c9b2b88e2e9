"""Decides which jobs may write a table, and above which versions a job must start. Pure: the registry's entries go in.

The registry is the table `milepost:writers` (docs/hbase.md). It is the one memory that every job of the cluster shares:
a checkpoint directory does not know about other directories, and cells do not tell who wrote them.
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
"""Versions that are numbers with a generation before them; all others are times or numbers of the user's own."""


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
    """Under `cas` a guard cell holds the version, and cells carry the time of day."""
    is_shared: bool = False
    generation: int = 0
    """Where versions are checkpoint ids."""
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    eras: Mapping[str, Eras] = field(default_factory=dict)
    """Of each topic, where versions are offsets."""

    @property
    def key(self) -> str:
        """Return the name of its entry."""
        return f"{self.name}@{self.directory}"

    @property
    def has_times(self) -> bool:
        """Return whether its cells carry times, which are all below generation 1."""
        return self.guard == "cas" or self.version not in NUMBERED

    @property
    def highest_generation(self) -> int:
        """Return the highest generation of its versions."""
        if self.version == "checkpoint":
            return self.generation
        return max(map(generation_of, self.eras.values()), default=0)

    @property
    def lowest_generation(self) -> int:
        """Return the lowest generation in which it writes now."""
        if self.version == "checkpoint":
            return self.generation
        return min(map(generation_of, self.eras.values()), default=0)

    def is_pipeline(self, other: Writer) -> bool:
        """Return whether both are one pipeline, perhaps moved to another checkpoint directory."""
        if self.name != other.name:
            return False
        return self.directory == other.directory or bool(self.topic_ids.keys() & other.topic_ids.keys())

    def overlaps(self, other: Writer) -> bool:
        """Return whether both change the same cells; a delete of rows reaches every column of its families."""
        families = self.columns.keys() & other.columns.keys()
        if "row" in (self.delete, other.delete) or "cas" in (self.guard, other.guard):
            return bool(families)
        return any(set(self.columns[family]) & set(other.columns[family]) for family in families)

    def document(self) -> str:
        """Return the entry as the registry has it."""
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
    """What the registry knows of one table."""

    revision: str | None = None
    writers: tuple[Writer, ...] = ()
    checkpoints: Mapping[str, int] = field(default_factory=dict)
    """The newest sealed checkpoint, by the key of its writer."""
    refusal: str | None = None
    """Why HBase does not let this user read it."""


def parse_registry(document: Mapping[str, Any] | None) -> Registry:
    """Return what the engine has read; an entry that is damaged or of a later format is refused."""
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
    """Return versions with the eras that the pipeline recorded where its directory does not remember them."""
    topics = dict(versions.topics)
    for writer in before:
        for name in topics.keys() & writer.eras.keys():
            topics[name] = continued(topics[name], writer.eras[name], is_known=is_known) or topics[name]
    return replace(versions, topics=topics)


def predecessors(registry: Registry, writer: Writer) -> tuple[Writer, ...]:
    """Return the entries of the same pipeline: its own, and those it left in other directories."""
    return tuple(each for each in registry.writers if each.is_pipeline(writer))


def rivals(registry: Registry, writer: Writer) -> tuple[Writer, ...]:
    """Return the other pipelines that change the same cells."""
    return tuple(each for each in registry.writers if not each.is_pipeline(writer) and each.overlaps(writer))


def require_no_rival(table: str, writer: Writer, others: Iterable[Writer]) -> None:
    """Refuse a table that another pipeline writes, unless one of the two says that the table is shared."""
    rival = next((each for each in others if not (each.is_shared or writer.is_shared)), None)
    if rival is None:
        return
    common = ", ".join(sorted(rival.columns.keys() & writer.columns.keys()))
    raise PreflightError(
        f"Table {table!r} belongs to pipeline {rival.name!r}: both write column family {common}",
        why=f"pipeline {rival.name!r} (checkpoints in {rival.directory}, since {rival.since}) gives its cells "
        "versions of "
        "its own, so the rows of one pipeline would hide those of the other without an error",
        fix="Write into another table or into columns of its own (with sink.hbase.delete: columns within one family). "
        f"If pipeline {rival.name!r} no longer writes this table, run once with --claim-table. To let both write on "
        "purpose, set sink.hbase.shared: true",
    )


def sharing_warnings(table: str, writer: Writer, others: Iterable[Writer]) -> Iterator[str]:
    """Yield what holds where several pipelines write the same cells."""
    for other in others:
        rule = (
            "the one with the higher version stays, and offsets or checkpoint ids of different pipelines do not say "
            "which "
            "is newer. With version: timestamp in both, the later record stays"
            if {writer.version, other.version} & set(NUMBERED)
            else "the one with the later version stays"
        )
        yield f"Table {table!r} is shared with pipeline {other.name!r}: where both write one cell, {rule}."


def generation_above(
    writer: Writer, newest_batch: int, before: Sequence[Writer], registry: Registry
) -> int | None:
    """Return the generation that a job must raise its versions to; None where nothing is above them.

    `newest_batch` is the newest one in its checkpoint directory, -1 where there is none.
    """
    if not any(_is_behind(writer, newest_batch, each, registry) for each in before):
        return None
    return max(each.highest_generation for each in before) + 1


def require_times_visible(table: str, writer: Writer, highest_generation: int) -> None:
    """Refuse versions that are times where the table holds cells above every time."""
    is_time = writer.guard == "cas" or writer.version in ("timestamp", "server-time")
    if is_time and highest_generation > 0:
        raise PreflightError(
            f"Table {table!r} holds cells that hide every version of this job",
            why=f"they were written in generation {highest_generation} of numbered versions, which is above any time "
            "of day, "
            "and cells of this job carry times",
            fix="Use version: offset or checkpoint without a guard, which start above them, or write into another "
            "table",
        )


def _is_behind(writer: Writer, newest_batch: int, other: Writer, registry: Registry) -> bool:
    """Return whether cells of the other would hide what this job writes next."""
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
    """Return the generation that cells of another kind of version reach."""
    return 0 if other.has_times else other.highest_generation


def _is_topic_behind(eras: Eras, before: Eras | None, still_read: Iterable[str]) -> bool:
    if before is None:
        # A topic beside those that were read before has never had an order with them; one in their place must have.
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
