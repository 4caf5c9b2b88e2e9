"""Compares the offsets of a checkpoint, its group and the broker by partition, and how long it can be restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.config import Config, KafkaSource
from milepost.inspect.broker import Broker, BrokerTopic, GroupOffset, Peek
from milepost.inspect.difference import positions_of
from milepost.inspect.retention import Standing, Unread, Verdict, judge
from milepost.source.offset_owner import is_of_deleted_topic
from milepost.source.positions import Partition, lag_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Which offsets belong to a deleted topic of the same name."""

    checkpoint: bool = False
    group: bool = False


NOT_STALE = Stale()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffsets:
    """The offsets of a partition; unknown values are None."""

    topic: str
    partition: int
    checkpoint: int | None = None
    group: int | None = None
    earliest: int | None = None
    latest: int | None = None
    verdict: Verdict
    stale: Stale = NOT_STALE

    @property
    def lag(self) -> int | None:
        """The number of offsets that the checkpoint is behind the end of the log."""
        if self.latest is None:
            return None
        start = self.checkpoint if self.checkpoint is not None else self.earliest or 0
        return lag_of(start, self.latest)

    @property
    def drift(self) -> int | None:
        """The number of offsets that the group is ahead of the checkpoint; None if they cannot be compared."""
        if self.group is None or self.checkpoint is None or self.stale != NOT_STALE:
            return None
        return self.group - self.checkpoint


def of_checkpoint(checkpoint: CompletedCheckpoint) -> list[PartitionOffsets]:
    """Return the offsets of the checkpoint only, if the broker cannot be queried."""
    return [
        PartitionOffsets(topic=t, partition=p, checkpoint=offset, verdict=Verdict(Standing.UNKNOWN))
        for (t, p), offset in sorted(positions_of(checkpoint).items())
    ]


def compare(
    config: Config, checkpoint: CompletedCheckpoint, *, timeout: float, now_ms: int
) -> list[PartitionOffsets]:
    """Return the offsets of checkpoint, group and broker for every partition."""
    found: list[PartitionOffsets] = []
    for source in config.views.values():
        positions = {place: at for place, at in positions_of(checkpoint).items() if source.reads(place[0])}
        broker = Broker.of_source(source, timeout)
        found.extend(_of_source(source, positions, checkpoint.topic_ids, broker, now_ms))
    return found


def _of_source(
    source: KafkaSource,
    positions: Mapping[Partition, int],
    topic_ids: Mapping[str, str],
    broker: Broker,
    now_ms: int,
) -> list[PartitionOffsets]:
    known = broker.partitions(source.topics or (), source.topic_pattern)
    facts = broker.facts(known)
    places = sorted({*positions, *((topic, number) for topic, one in facts.items() for number in one.ends)})
    present = [place for place in places if place[1] in _ends(facts, place[0])]
    groups = broker.committed(source.group_id, present) if source.group_id else {}
    peeks = broker.peek(_unread(positions, facts))
    return [
        PartitionOffsets(
            topic=topic,
            partition=number,
            checkpoint=positions.get((topic, number)),
            group=groups[topic, number].offset if (topic, number) in groups else None,
            earliest=_ends(facts, topic).get(number, (None, None))[0],
            latest=_ends(facts, topic).get(number, (None, None))[1],
            verdict=_verdict((topic, number), positions, facts.get(topic), topic_ids, peeks, now_ms),
            stale=_stale(facts.get(topic), topic_ids.get(topic), groups.get((topic, number))),
        )
        for topic, number in places
    ]


def _stale(facts: BrokerTopic | None, recorded: str | None, group: GroupOffset | None) -> Stale:
    """Return which offsets a fresh start does not use."""
    if facts is None:
        return NOT_STALE
    is_recreated = recorded is not None and recorded != facts.topic_id
    if group is None:
        return Stale(checkpoint=is_recreated)
    is_stale = is_of_deleted_topic(group.topic_id, recorded, facts.topic_id)
    return Stale(checkpoint=is_recreated, group=is_stale)


def _ends(facts: Mapping[str, BrokerTopic], topic: str) -> Mapping[int, tuple[int, int]]:
    return facts[topic].ends if topic in facts else {}


def _unread(positions: Mapping[Partition, int], facts: Mapping[str, BrokerTopic]) -> dict[Partition, int]:
    """Return the positions with records to read."""
    unread = {}
    for (topic, number), offset in positions.items():
        earliest, latest = _ends(facts, topic).get(number, (0, 0))
        if earliest <= offset < latest:
            unread[topic, number] = offset
    return unread


def _verdict(
    place: Partition,
    positions: Mapping[Partition, int],
    facts: BrokerTopic | None,
    topic_ids: Mapping[str, str],
    peeks: Mapping[Partition, Peek],
    now_ms: int,
) -> Verdict:
    topic, number = place
    if facts is None or number not in facts.ends:
        what = "the topic does not exist" if facts is None else "the partition does not exist"
        return Verdict(Standing.UNRESTORABLE, note=what)
    if topic_ids.get(topic, facts.topic_id) != facts.topic_id:
        return Verdict(Standing.UNRESTORABLE, note="the topic was created again")
    offset = positions.get(place)
    if offset is None:
        return Verdict(Standing.RESTORABLE, note="new, starts at earliest")
    earliest, latest = facts.ends[number]
    peek = peeks.get(place)
    unread = Unread(
        earliest=earliest,
        latest=latest,
        first_ms=None if peek is None else peek.timestamp_ms,
        bytes=None if peek is None else round(peek.average_bytes * (latest - offset)),
    )
    return judge(offset, unread, facts.policy, now_ms)
