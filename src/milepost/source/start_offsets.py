"""Decides at which offset each partition starts and stops, from the facts of the broker. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from milepost.checkpoint.model import Offsets
from milepost.errors import PreflightError
from milepost.source.positions import lag_of
from milepost.source.topic_facts import KafkaFacts, PartitionFacts


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """The start offset of a partition, and the reason for it."""

    topic: str
    partition: int
    offset: int
    reason: str
    latest: int

    @property
    def backlog(self) -> int:
        """The number of offsets between the start and the end of the log."""
        return lag_of(self.offset, self.latest)


@dataclass(frozen=True, slots=True)
class StartPlan:
    """The start-up plan of a source, which is printed before the job runs."""

    partitions: tuple[PartitionStart, ...]
    resumed_from: int | None
    stop: Offsets | None
    disowned: Offsets = field(default_factory=dict)
    """Group offsets of deleted topics of the same names; they are not used."""

    def offsets(self) -> dict[str, dict[int, int]]:
        """Return the first offset to read, by topic and partition."""
        offsets: dict[str, dict[int, int]] = {}
        for start in self.partitions:
            offsets.setdefault(start.topic, {})[start.partition] = start.offset
        return offsets


Rule = Callable[[str, int, PartitionFacts], tuple[int, str]]
"""Returns the start offset of a partition and the reason; raises ValueError with a message if there is none."""


def require_topics(wanted: Iterable[str], pattern: str | None, facts: KafkaFacts) -> None:
    """Refuse topics that do not exist or cannot be read, and a pattern without matches."""
    if pattern is not None and not facts.topics:
        raise PreflightError(
            f"No topic matches the pattern {pattern!r}",
            why=f"the broker has {_listing(facts.existing)}",
            fix="Create the topic first, or correct source.kafka.topic-pattern",
        )
    missing = [topic for topic in wanted if topic not in facts.topics]
    if missing:
        near = get_close_matches(missing[0], facts.existing, n=1)
        raise PreflightError(
            f"Topic {', '.join(map(repr, missing))} does not exist",
            why="Milepost never creates a source topic, because a job with a misspelled name would wait for ever",
            fix=(f"Did you mean {near[0]!r}? " if near else "")
            + "Create the topic or correct source.kafka.topics",
        )
    closed = sorted(topic for topic, known in facts.topics.items() if not known.readable)
    if closed:
        raise PreflightError(
            f"This client is not allowed to read topic {', '.join(map(repr, closed))}",
            why="the broker's ACLs do not grant Read to its principal",
            fix="Grant Read on the topic to the principal of source.kafka.properties",
        )


def require_dead_letter_topic(topic: str, facts: KafkaFacts) -> None:
    """Refuse a dead-letter topic that does not exist or cannot be written: the first bad record would fail the job."""
    if topic not in facts.existing:
        near = get_close_matches(topic, facts.existing, n=1)
        raise PreflightError(
            f"The dead-letter topic {topic!r} does not exist",
            why="Milepost does not create topics, and the first bad record would fail the job",
            fix=(f"Did you mean {near[0]!r}? " if near else "")
            + "Create the topic or correct source.kafka.bad-records.dead-letter",
        )
    if not facts.dead_letter_writable:
        raise PreflightError(
            f"This client is not allowed to write the dead-letter topic {topic!r}",
            why="the broker's ACLs do not grant Write to its principal",
            fix="Grant Write on the topic to the principal of source.kafka.properties",
        )


def fresh_start(rule: Rule, facts: KafkaFacts, stop: Offsets | None) -> StartPlan:
    """Return the plan of a job without a checkpoint, or refuse with every partition that has no valid start offset."""
    starts, faults = [], []
    for topic, partition, known in facts.partitions():
        try:
            offset, reason = rule(topic, partition, known)
            starts.append(PartitionStart(topic, partition, offset, reason, known.latest))
        except ValueError as fault:
            faults.append(f"{topic}-{partition}: {fault}")
    if faults:
        raise PreflightError(
            "The start offsets cannot be used: " + "; ".join(faults),
            fix="Correct source.kafka.start or source.kafka.start-fallback" + _group_fix(facts),
        )
    return StartPlan(tuple(starts), None, stop, _disowned(facts))


def _group_fix(facts: KafkaFacts) -> str:
    """Return the additional fix for a group with offsets, to which the fallback does not apply."""
    if all(known.group is None for _, _, known in facts.partitions()):
        return ""
    return ", or move the group with kafka-consumer-groups --reset-offsets; the fallback is for groups without offsets"


def _disowned(facts: KafkaFacts) -> Offsets:
    found: dict[str, dict[int, int]] = {}
    for topic, partition, known in facts.partitions():
        if known.group_of_deleted is not None:
            found.setdefault(topic, {})[partition] = known.group_of_deleted
    return found


def require_same_topics(recorded: Mapping[str, str], facts: KafkaFacts) -> None:
    """Refuse a topic that was deleted since the checkpoint was taken, even if it was created again."""
    gone = [topic for topic in recorded if topic not in facts.existing]
    if gone:
        raise PreflightError(
            f"Topic {', '.join(map(repr, gone))} was deleted since the checkpoint was taken",
            why="the job cannot resume: the offsets of its checkpoint belong to the deleted topic",
            fix="Remove the topic from source.kafka.topics and start with another checkpointing.dir; or create it "
            "again and run with --fresh, which reads it into the same table, with versions above the existing ones",
        )
    recreated = [
        topic
        for topic, known in facts.topics.items()
        if recorded.get(topic, known.topic_id) != known.topic_id
    ]
    if recreated:
        raise PreflightError(
            f"Topic {', '.join(map(repr, recreated))} is not the one the checkpoint belongs to (TOPIC_RECREATED)",
            why="it was deleted and created again: its id has changed, and the old offsets are not valid in it",
            fix="Run with --fresh: the new topic is read into the same table, with versions above the existing ones",
        )


def begin_again(offsets: Offsets, facts: KafkaFacts, stop: Offsets | None) -> StartPlan:
    """Return the plan of a job whose first checkpoint never completed: Spark starts at the same offsets again."""
    return StartPlan(
        _continue_from(offsets, facts, "the first start's offset", "The first start"), None, stop
    )


def resume(batch_id: int, offsets: Offsets, facts: KafkaFacts, stop: Offsets | None) -> StartPlan:
    """Return the plan of a job that resumes from its newest completed checkpoint."""
    name = f"checkpoint {batch_id}"
    return StartPlan(_continue_from(offsets, facts, name, name.capitalize()), batch_id, stop)


def _continue_from(offsets: Offsets, facts: KafkaFacts, reason: str, name: str) -> tuple[PartitionStart, ...]:
    starts, faults = [], []
    for topic, partition, known in facts.partitions():
        offset = offsets.get(topic, {}).get(partition)
        if offset is None:
            starts.append(
                PartitionStart(topic, partition, known.earliest, "new since the checkpoint", known.latest)
            )
            continue
        try:
            _require_in_range(offset, known)
        except ValueError as fault:
            faults.append(f"{topic}-{partition}: {fault}")
        starts.append(PartitionStart(topic, partition, offset, reason, known.latest))
    gone = [
        f"{topic}-{partition}"
        for topic, partitions in offsets.items()
        for partition in partitions
        if topic not in facts.topics or partition not in facts.topics[topic].partitions
    ]
    faults += [f"{name}: the checkpoint has read it, but it no longer exists" for name in gone]
    if faults:
        raise PreflightError(
            f"{name} cannot be resumed: " + "; ".join(faults),
            why="records were deleted, or the topic was deleted and created again",
            fix="Start with another checkpointing.dir and choose the offsets with source.kafka.start",
        )
    return tuple(starts)


def earliest(_topic: str, _partition: int, facts: PartitionFacts) -> tuple[int, str]:
    """Start at the oldest record."""
    return facts.earliest, "earliest"


def latest(_topic: str, _partition: int, facts: PartitionFacts) -> tuple[int, str]:
    """Start at the next record to be written."""
    return facts.latest, "latest"


def timestamp(_topic: str, _partition: int, facts: PartitionFacts) -> tuple[int, str]:
    """Start at the first record at or after the timestamp, or at the end of the log."""
    if facts.at_timestamp is None:
        return facts.latest, "latest: no record is at or after the timestamp"
    return facts.at_timestamp, "timestamp"


def nowhere(_topic: str, _partition: int, facts: PartitionFacts) -> tuple[int, str]:
    """Refuse, for `start-fallback: none`."""
    raise ValueError(f"{_no_offset(facts)}, and start-fallback is none")


def group_offsets(fallback: Rule) -> Rule:
    """Start at the offsets of the consumer group; without an offset, apply the fallback."""

    def rule(topic: str, partition: int, facts: PartitionFacts) -> tuple[int, str]:
        if facts.group is None:
            offset, reason = fallback(topic, partition, facts)
            return offset, f"{reason}: {_no_offset(facts)}"
        try:
            _require_in_range(facts.group, facts)
        except ValueError as fault:
            recreated = "; the topic was probably deleted and created again"
            raise ValueError(
                f"the group's {fault}{recreated if facts.group > facts.latest else ''}"
            ) from None
        return facts.group, "group offset"

    return rule


def _no_offset(facts: PartitionFacts) -> str:
    if facts.group_of_deleted is None:
        return "the group has no offset"
    return f"the group's offset {facts.group_of_deleted} belongs to a deleted topic of the same name"


def specific(offsets: Offsets) -> Rule:
    """Start at the configured offsets."""

    def rule(topic: str, partition: int, facts: PartitionFacts) -> tuple[int, str]:
        offset = offsets.get(topic, {}).get(partition)
        if offset is None:
            raise ValueError("start.offsets has no offset for this partition")
        try:
            _require_in_range(offset, facts)
        except ValueError as fault:
            raise ValueError(f"the given {fault}") from None
        return offset, "given offset"

    return rule


def require_known(offsets: Offsets, facts: KafkaFacts, key: str) -> None:
    """Refuse offsets for partitions that do not exist."""
    unknown = [
        f"{topic}-{partition}"
        for topic, partitions in offsets.items()
        for partition in partitions
        if topic not in facts.topics or partition not in facts.topics[topic].partitions
    ]
    if unknown:
        raise PreflightError(
            f"{key} names {', '.join(unknown)}, which the source does not read",
            fix="Name only partitions that exist in the topics of the source",
        )


def stop_at_latest(facts: KafkaFacts) -> Offsets:
    """Return the current end of every partition."""
    return _each(facts, lambda known: known.latest)


def beginnings(facts: KafkaFacts) -> Offsets:
    """Return the earliest offset of every partition."""
    return _each(facts, lambda known: known.earliest)


def stop_at_timestamp(facts: KafkaFacts) -> Offsets:
    """Return the first offset at or after the stop timestamp, or the end of the log."""
    return _each(
        facts, lambda known: known.latest if known.at_stop_timestamp is None else known.at_stop_timestamp
    )


def _each(facts: KafkaFacts, offset: Callable[[PartitionFacts], int]) -> Offsets:
    ends: dict[str, dict[int, int]] = {}
    for topic, partition, known in facts.partitions():
        ends.setdefault(topic, {})[partition] = offset(known)
    return ends


def _require_in_range(offset: int, facts: PartitionFacts) -> None:
    if offset < facts.earliest:
        raise ValueError(f"offset {offset} no longer exists: the oldest record is {facts.earliest}")
    if offset > facts.latest:
        raise ValueError(f"offset {offset} is beyond the end {facts.latest}")


def _listing(names: Iterable[str]) -> str:
    visible = sorted(name for name in names if not name.startswith("__"))
    return "the topics " + ", ".join(visible[:10]) if visible else "no topics"
