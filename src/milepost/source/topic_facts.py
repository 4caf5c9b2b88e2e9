"""The facts that the broker reports about the topics of a source, as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from milepost.errors import NotReachableError, PreflightError
from milepost.source.offset_owner import is_of_deleted_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """The offsets of a partition; None if the broker does not report one."""

    earliest: int
    latest: int
    group: int | None = None
    group_topic_id: str | None = None
    """The id of the topic that the group offset belongs to, if its metadata contains one."""
    group_of_deleted: int | None = None
    """The group offset if it belongs to a deleted topic of the same name; `group` is None then."""
    at_timestamp: int | None = None
    at_stop_timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic: its id, its partitions, and whether this client may read it."""

    topic_id: str
    partitions: Mapping[int, PartitionFacts]
    readable: bool = True
    timestamp_type: str | None = None
    """The setting message.timestamp.type, if it is known."""


@dataclass(frozen=True, slots=True)
class KafkaFacts:
    """The requested topics that exist, and the names of all existing topics."""

    topics: Mapping[str, TopicFacts]
    existing: frozenset[str]
    dead_letter_writable: bool = True

    def partitions(self) -> Iterator[tuple[str, int, PartitionFacts]]:
        """Yield topic, partition and facts in order."""
        for topic in sorted(self.topics):
            for partition in sorted(self.topics[topic].partitions):
                yield topic, partition, self.topics[topic].partitions[partition]


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that was deleted, and created again unless `now` is None."""

    topic: str
    before: str
    """The topic id before."""
    now: str | None

    def __str__(self) -> str:
        if self.now is None:
            return f"topic {self.topic} was deleted"
        return f"topic {self.topic} was deleted and created again: its id is {self.now} and was {self.before}"


def find_topic_change(before: Mapping[str, str], now: Mapping[str, str]) -> TopicChange | None:
    """Return the first topic that was deleted or created again, by the topic ids before and now."""
    changes = (TopicChange(topic, known, now.get(topic)) for topic, known in sorted(before.items()))
    return next((change for change in changes if change.now != change.before), None)


def parse_facts(answer: str, bootstrap_servers: str) -> KafkaFacts:
    """Parse the answer of the engine; raises an error that the user can act on."""
    document = json.loads(answer)
    if "error" in document:
        raise _error(document["error"], bootstrap_servers)
    topics = {
        name: TopicFacts(
            topic["id"],
            {int(number): _partition(facts) for number, facts in topic["partitions"].items()},
            topic.get("readable", True),
            topic.get("timestamp-type"),
        )
        for name, topic in document["topics"].items()
    }
    return KafkaFacts(topics, frozenset(document["existing"]), document.get("dead-letter-writable", True))


def disown_group_offsets(facts: KafkaFacts, recorded: Mapping[str, str]) -> KafkaFacts:
    """Return the facts without group offsets that belong to deleted topics of the same names.

    `recorded` has the topic ids that the job has recorded.
    """
    topics = {
        name: replace(
            topic,
            partitions={
                number: _without_group(known)
                if is_of_deleted_topic(known.group_topic_id, recorded.get(name), topic.topic_id)
                else known
                for number, known in topic.partitions.items()
            },
        )
        for name, topic in facts.topics.items()
    }
    return replace(facts, topics=topics)


def _without_group(facts: PartitionFacts) -> PartitionFacts:
    return replace(facts, group=None, group_of_deleted=facts.group)


def _partition(facts: Mapping[str, Any]) -> PartitionFacts:
    return PartitionFacts(
        earliest=facts["earliest"],
        latest=facts["latest"],
        group=facts.get("group"),
        group_topic_id=facts.get("group-topic-id"),
        at_timestamp=facts.get("at-timestamp"),
        at_stop_timestamp=facts.get("at-stop-timestamp"),
    )


def _error(error: Mapping[str, str], bootstrap_servers: str) -> Exception:
    kind, message = error["kind"], error["message"]
    if kind == "forbidden":
        return PreflightError(
            f"Kafka at {bootstrap_servers} does not allow this client to describe the topics or the group",
            why=message,
            fix="Grant Describe and Read on the topics and the group to the principal of source.kafka.properties",
        )
    if kind == "unauthenticated":
        return PreflightError(
            f"Kafka at {bootstrap_servers} rejected the credentials",
            why=message,
            fix="Check the security.* and sasl.* entries of source.kafka.properties",
        )
    if kind == "properties":
        return PreflightError(
            "The Kafka client cannot be built from source.kafka.properties",
            why=message,
            fix="Correct the property",
        )
    return NotReachableError(
        f"Kafka at {bootstrap_servers} does not answer",
        why=message,
        fix="Check source.kafka.bootstrap-servers and that the broker is running and reachable; on a busy "
        "machine raise source.kafka.connect-timeout",
    )
