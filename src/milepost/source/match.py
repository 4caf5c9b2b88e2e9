"""Decides whether the sources of a Spark query are those of a pipeline. Pure: by topics, never by place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from milepost.checkpoint.model import Offsets
from milepost.config import KafkaSource
from milepost.errors import PreflightError


def require_same_sources(lines: Sequence[Offsets], views: Mapping[str, KafkaSource]) -> None:
    """Refuse a pipeline that reads other topics than the query, or shares them out to its sources in another way."""
    found: dict[str, set[str]] = {view: set() for view in views}
    for number, line in enumerate(lines):
        if line:
            found[_owner(number, line, views)].update(line)
    for view, source in views.items():
        _require_read(view, source, found[view])


def _owner(number: int, line: Offsets, views: Mapping[str, KafkaSource]) -> str:
    """Return the one view that reads the topics of a source of the query."""
    owners = {
        topic: [view for view, source in views.items() if source.reads(topic)] for topic in sorted(line)
    }
    strange = [topic for topic, readers in owners.items() if not readers]
    if strange:
        raise PreflightError(
            f"The query reads {_topics(strange)}, which no source of the pipeline reads",
            why="the job would go on without them, and nobody would miss their records",
            fix="Add them to source.kafka.topics, or give the checkpoint of another query",
        )
    shared = set.intersection(*(set(readers) for readers in owners.values()))
    if len(shared) != 1:
        several = sorted({view for readers in owners.values() for view in readers})
        raise PreflightError(
            f"Source {number} of the query reads {_topics(owners)}, which belong to {' and '.join(several)}",
            why="Spark gives each source its offsets back by its place, so a source must have the same topics here",
            fix="Share the topics out to sources as the query does",
        )
    return shared.pop()


def _require_read(view: str, source: KafkaSource, topics: set[str]) -> None:
    if not topics:
        raise PreflightError(
            f"The query has no offsets of what source {view} reads",
            why="Spark continues every source of a checkpoint or none, and a new one has no place in it",
            fix=f"Remove the source {view}, or begin the pipeline anew instead of adopting",
        )
    added = sorted(set(source.topics or ()) - topics)
    if added:
        raise PreflightError(
            f"The pipeline reads {_topics(added)}, which the query does not",
            why="it would be read from its earliest record, which may not be what you mean",
            fix="Adopt without it; add it to the pipeline afterwards",
        )


def _topics(names: Iterable[str]) -> str:
    return ", ".join(f"topic {name!r}" for name in names)
