"""Decides which of several sources an offset belongs to. Pure: by topic, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from milepost.checkpoint.model import Offsets
from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source.positions import merge_offsets
from milepost.source.start_offsets import StartPlan
from milepost.source.topic_facts import KafkaFacts

_START_FRESH = "start with another checkpointing.dir"


def combine_plans(starts: Iterable[StartPlan]) -> StartPlan:
    """Return one start-up plan for all sources."""
    plans = tuple(starts)
    stops = [plan.stop for plan in plans]
    return StartPlan(
        tuple(partition for plan in plans for partition in plan.partitions),
        plans[0].resumed_from,
        None if None in stops else merge_offsets(stop for stop in stops if stop is not None),
        merge_offsets(plan.disowned for plan in plans),
    )


def require_own_topics(known: Mapping[str, KafkaFacts]) -> None:
    """Refuse two sources that read the same topic; with patterns the configuration cannot detect it."""
    owners: dict[str, str] = {}
    for view, facts in known.items():
        for topic in facts.topics:
            if topic in owners:
                raise PreflightError(
                    f"Topic {topic!r} is read by two sources, {owners[topic]} and {view}",
                    why="a checkpoint has one offset per partition, but each source would need its own",
                    fix="Read the topic in one source and use its view twice, or narrow a topic-pattern",
                )
            owners[topic] = view


def split_offsets(
    offsets: Offsets, sources: Mapping[str, KafkaSource], known: Mapping[str, KafkaFacts]
) -> dict[str, Offsets]:
    """Return the part of a checkpoint's offsets that belongs to each source."""
    if len(sources) == 1:
        return dict.fromkeys(sources, offsets)
    found: dict[str, dict[str, Mapping[int, int]]] = {view: {} for view in sources}
    for topic, partitions in offsets.items():
        owner = _owner(topic, sources, known)
        if owner is None:
            raise PreflightError(
                f"The checkpoint has offsets of topic {topic!r}, which no source reads",
                why="Spark resumes all sources of a checkpoint or none",
                fix=f"Read the topic in the same source as before, or {_START_FRESH}",
            )
        found[owner][topic] = partitions
    return dict(found)


def require_all_read(order: Sequence[str], views: Iterable[str]) -> None:
    """Refuse a source that the transformation does not read: its records would be lost unnoticed."""
    unread = [view for view in views if view not in order]
    if unread:
        raise PreflightError(
            f"The transformation does not read {', '.join(unread)}",
            why="a source that contributes no rows is never read and is not part of the checkpoint",
            fix="Use the view in the transformation, or remove the source",
        )


def require_same_order(
    order: Sequence[str], lines: Sequence[Offsets], sources: Mapping[str, KafkaSource]
) -> None:
    """Refuse a transformation that reads its sources in a different order than the checkpoint.

    Spark restores offsets by position: the first stream of the plan gets the first line, whatever its topics are.
    """
    if len(sources) == 1 and len(order) == len(lines):
        return
    before = [_view_of(line, sources) for line in lines]
    same = len(before) == len(order) and all(
        was in (None, now) for was, now in zip(before, order, strict=True)
    )
    if not same:
        raise PreflightError(
            "The transformation reads its sources in a different order than the checkpoint",
            why=f"it now reads {', '.join(order)}; the checkpoint has "
            + ", ".join(view or "a source without offsets" for view in before),
            fix=f"Read them in the order of the checkpoint, or {_START_FRESH}",
        )


def _owner(topic: str, sources: Mapping[str, KafkaSource], known: Mapping[str, KafkaFacts]) -> str | None:
    return next((v for v, source in sources.items() if topic in known[v].topics or source.reads(topic)), None)


def _view_of(line: Offsets, sources: Mapping[str, KafkaSource]) -> str | None:
    if not line:
        return None
    topic = min(line)
    return next((view for view, source in sources.items() if source.reads(topic)), f"topic {topic}")
