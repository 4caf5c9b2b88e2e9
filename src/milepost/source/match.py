"""Decides whether the sources of a Spark query match those of a pipeline. Pure: by topic, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from milepost.checkpoint.model import Offsets
from milepost.config import KafkaSource
from milepost.errors import PreflightError


def require_same_sources(lines: Sequence[Offsets], views: Mapping[str, KafkaSource]) -> None:
    """Refuse a pipeline whose topics, or their distribution over sources, differ from the query."""
    found: dict[str, set[str]] = {view: set() for view in views}
    for number, line in enumerate(lines):
        if line:
            found[_owner(number, line, views)].update(line)
    for view, source in views.items():
        _require_read(view, source, found[view])


def _owner(number: int, line: Offsets, views: Mapping[str, KafkaSource]) -> str:
    """Return the view that reads the topics of a source of the query."""
    owners = {
        topic: [view for view, source in views.items() if source.reads(topic)] for topic in sorted(line)
    }
    unread = [topic for topic, readers in owners.items() if not readers]
    if unread:
        raise PreflightError(
            f"The query reads {_topics(unread)}, which no source of the pipeline reads",
            why="the job would continue without them, and their records would be lost unnoticed",
            fix="Add them to source.kafka.topics, or use the checkpoint of another query",
        )
    shared = set.intersection(*(set(readers) for readers in owners.values()))
    if len(shared) != 1:
        several = sorted({view for readers in owners.values() for view in readers})
        raise PreflightError(
            f"Source {number} of the query reads {_topics(owners)}, which belong to {' and '.join(several)}",
            why="Spark restores offsets by the position of a source, so each source must have the same topics",
            fix="Distribute the topics over the sources as the query does",
        )
    return shared.pop()


def _require_read(view: str, source: KafkaSource, topics: set[str]) -> None:
    if not topics:
        raise PreflightError(
            f"The query has no offsets for the topics of source {view}",
            why="Spark resumes all sources of a checkpoint or none, and a new source is not part of it",
            fix=f"Remove the source {view}, or start the pipeline from scratch instead of adopting",
        )
    added = sorted(set(source.topics or ()) - topics)
    if added:
        raise PreflightError(
            f"The pipeline reads {_topics(added)}, which the query does not",
            why="it would be read from its earliest record, which may not be intended",
            fix="Adopt without it, and add it to the pipeline afterwards",
        )


def _topics(names: Iterable[str]) -> str:
    return ", ".join(f"topic {name!r}" for name in names)
