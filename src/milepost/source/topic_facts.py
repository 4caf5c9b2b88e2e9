"""What the broker says about the topics of a source, as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from milepost.errors import NotReachableError, PreflightError
from milepost.source.offset_owner import is_of_deleted_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What the broker knows of one partition; None where it knows nothing."""

    earliest: int
    latest: int
    group: int | None = None
    group_topic_id: str | None = None
    """The topic that the group's offset belongs to, where the offset says it."""
    group_of_deleted: int | None = None
    """The group's offset where it belongs to a deleted topic of the same name; `group` is None then."""
    at_timestamp: int | None = None
    at_stop_timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic: the id the broker gave it when it was created, its partitions, whether this client may read it."""

    topic_id: str
    partitions: Mapping[int, PartitionFacts]
    readable: bool = True
    timestamp_type: str | None = None
    """Kafka's message.timestamp.type, where it was asked for and the broker says it."""


@dataclass(frozen=True, slots=True)
class KafkaFacts:
    """The topics that exist among those asked for, and the names of all that exist."""

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
    """Turn the engine's answer into facts, or into the error that a person can act on."""
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

    An offset that Milepost has committed says which topic it belongs to. Any other is believed, unless the topic is not
    the one that this job has recorded: what was committed for it then was committed for another topic.
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
            f"Kafka at {bootstrap_servers} does not let this client look at the topics or the group",
            why=message,
            fix="Grant Describe and Read on the topics and the group to the principal of source.kafka.properties",
        )
    if kind == "unauthenticated":
        return PreflightError(
            f"Kafka at {bootstrap_servers} refused the credentials",
            why=message,
            fix="Check the security.* and sasl.* entries of source.kafka.properties",
        )
    if kind == "properties":
        return PreflightError(
            "The Kafka client cannot be built from source.kafka.properties",
            why=message,
            fix="Correct the property that is named",
        )
    return NotReachableError(
        f"Kafka at {bootstrap_servers} does not answer",
        why=message,
        fix="Check source.kafka.bootstrap-servers and that the broker is running and reachable from here; on a busy "
        "machine raise source.kafka.connect-timeout",
    )
